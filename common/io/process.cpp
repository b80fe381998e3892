#include "common/io/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <latch>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace lambda::io {
namespace {

// The kernel's struct sched_attr as it was first (48 bytes): glibc has none before 2.41.
struct SchedulingAttributes {
    std::uint32_t size = sizeof(SchedulingAttributes);
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;  // of SCHED_OTHER: the slice, 0.1 to 100 ms
    std::uint64_t deadline_ns = 0, period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

constexpr std::uint64_t kResetOnFork = 1;  // SCHED_FLAG_RESET_ON_FORK
// A sixth of what two processors have by default. Of 0.1 to 1 ms the shorter are better where
// many transfers share a processor, and all are alike for one by itself (docs/decisions/0014).
constexpr std::uint64_t kSliceNs = 250'000;

constexpr std::int32_t kLeastShare = 19;  // nice(2)

std::atomic<std::size_t> spare_files = 0;

Error no_thread(int error_number) {
    Error error = errno_error(Fault::cut, "cannot start a thread", {}, error_number);
    error.remedy =
        "raise the limit of processes (ulimit -u, the unit's TasksMax, the container's pids) or "
        "of memory (ulimit -v, LimitAS)";
    return error;
}

}  // namespace

void prepare_process() {
    // What would be opened as one of the three would be taken for output, and a socket as another.
    // A stdout that is closed stays one that nothing can be written to.
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        const bool closed = ::fcntl(stream, F_GETFD) < 0;
        if (closed)
            static_cast<void>(::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGCHLD, SIG_DFL);  // ignored, it would keep from us how a child ended
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond a limit is an error of that file
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    // Where it is refused, the limit stays what it was, and a transfer that reaches it says so.
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

std::size_t files_to_open() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    return static_cast<std::size_t>(std::min<rlim_t>(files.rlim_cur, INT_MAX));
}

void keep_files_spare(std::size_t count) {
    spare_files = std::min(count, files_to_open() / 2);
}

bool is_spare(int opened) {
    return static_cast<std::size_t>(opened) + spare_files >= files_to_open();
}

bool files_are_short() {
    const int next = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (next < 0) return true;
    ::close(next);
    return is_spare(next);
}

bool is_want_of_files(const Error& error) {
    return error.error_number == EMFILE || error.error_number == ENFILE;
}

void take_short_slices() {
    SchedulingAttributes attributes;
    const long known = ::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0);
    if (known != 0 || attributes.policy != SCHED_OTHER) return;
    attributes.flags |= kResetOnFork;
    attributes.runtime_ns = kSliceNs;
    // Refused, by a sandbox perhaps: it runs as before.
    static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

unsigned usable_processors() {
    cpu_set_t set;
    // Refused, or of more than a set holds: there are several.
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 2;
    return static_cast<unsigned>(CPU_COUNT(&set));
}

void stand_back() {
    SchedulingAttributes attributes;
    const long known = ::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0);
    if (known != 0 || attributes.policy != SCHED_OTHER) return;
    attributes.policy = SCHED_BATCH;
    // Told only by a kernel that knows slices of a thread's own.
    if (attributes.runtime_ns != 0) {
        attributes.nice = kLeastShare;
        attributes.runtime_ns = kSliceNs;
    }
    // Refused, by a sandbox perhaps: it runs as before.
    static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

Error no_memory(std::string what) {
    Error error = errno_error(Fault::cut, std::move(what), {}, ENOMEM);
    error.remedy =
        "let the process have more (ulimit -v, the unit's LimitAS), or lower its `memory`";
    return error;
}

Result<std::thread> start_thread(std::function<void()> run) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread started;
    int refused = 0;
    try {
        started = std::thread(std::move(run));
    } catch (const std::system_error& why) {
        refused = why.code().value();
    } catch (const std::bad_alloc&) {
        refused = ENOMEM;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (refused != 0) return no_thread(refused);
    return started;
}

// Not by start_thread(): what it allocates in a thread leaves an arena of malloc's for each.
Result<void> try_threads(unsigned count) {
    std::latch tried(1);
    const auto wait = [](void* until) -> void* {
        static_cast<std::latch*>(until)->wait();
        return nullptr;
    };
    std::vector<pthread_t> threads;
    int refused = 0;
    while (refused == 0 && threads.size() < count) {
        pthread_t thread{};
        refused = ::pthread_create(&thread, nullptr, wait, &tried);
        if (refused == 0) threads.push_back(thread);
    }
    tried.count_down();
    for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
    return refused == 0 ? Result<void>() : no_thread(refused);
}

}  // namespace lambda::io
