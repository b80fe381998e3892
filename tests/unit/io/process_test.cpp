#include "common/io/process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

#include "tests/support/catch.h"

namespace lambda::io {
namespace {

// The fourth word of the kernel's struct sched_attr; 0 where it tells none.
std::uint64_t slice_ns() {
    std::array<std::uint64_t, 6> attributes{};
    if (::syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0) != 0) return 0;
    return attributes[3];
}

}  // namespace

TEST_CASE("process: a closed standard stream is opened on nothing before anything else is") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (const int stream : {0, 1, 2}) ::close(stream);
        prepare_process();
        const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        char byte = 0;
        ::_exit(next > 2 && ::read(0, &byte, 1) == 0 && ::write(2, "x", 1) == 1 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("process: a thread takes short slices, and those that it starts have the usual ones") {
    std::uint64_t usual = 0, own = 0, inherited = 0;
    std::thread([&] {
        usual = slice_ns();
        take_short_slices();
        own = slice_ns();
        std::thread([&] { inherited = slice_ns(); }).join();
    }).join();
    if (usual == 0) {
        WARN("skipped: this kernel has no slices of a thread's own (Linux 6.12)");
        return;
    }
    CHECK(own == 250'000);
    CHECK(own < usual);
    CHECK(inherited == usual);
}

TEST_CASE("process: a thread stands back, and keeps a policy that it was given") {
    int usual = -1, niceness = 0, given = -1;
    bool refused = false;
    const sched_param zero{};
    std::thread([&] { refused = ::sched_setscheduler(0, SCHED_BATCH, &zero) != 0; }).join();
    if (refused) {
        WARN("skipped: this host refuses SCHED_BATCH");
        return;
    }
    std::thread([&] {
        stand_back();
        usual = ::sched_getscheduler(0);
        niceness = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
    }).join();
    std::thread([&] {
        ::sched_setscheduler(0, SCHED_IDLE, &zero);
        stand_back();
        given = ::sched_getscheduler(0);
    }).join();
    CHECK(usual == SCHED_BATCH);
    CHECK(niceness == 19);
    CHECK(given == SCHED_IDLE);
    CHECK(::getpriority(PRIO_PROCESS, 0) < 19);
}

}  // namespace lambda::io
