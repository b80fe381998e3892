#include "common/io/finisher.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <set>

#include "common/io/machine.h"
#include "common/io/shared_barrier.h"

namespace lambda::io {
namespace {

// Fewer are flushed one by one: a whole file system's barrier costs what others wrote, too.
constexpr std::size_t kFewestShared = 8;
// Of a new measurement in the smoothed one.
constexpr double kWeight = 0.25;
// By how much the barrier's cost is believed less each time that it was not tried.
constexpr double kForget = 0.9;

double microseconds_since(Time start) {
    return std::chrono::duration<double, std::micro>(Clock().now() - start).count();
}

Descriptor readable(const TargetDirectories::Directory& directory) {
    return Descriptor(::openat(directory.opened.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int errno_of(int result) {
    return result == 0 ? 0 : errno;
}

std::size_t files_to_open() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    return static_cast<std::size_t>(std::min<rlim_t>(files.rlim_cur, INT_MAX));
}

// errno, or 0. Without the right that AT_EMPTY_PATH needs (before Linux 6.10) by /proc.
int link_opened(int file, int directory, const std::string& name) {
    if (::linkat(file, "", directory, name.c_str(), AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT) return errno;
    const std::string magic = "/proc/self/fd/" + std::to_string(file);
    return errno_of(::linkat(AT_FDCWD, magic.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW));
}

// errno, or 0.
int give_name(Made& made) {
    if (!made.nameless && made.partial.empty()) return 0;
    const int directory = made.directory->opened.get();
    if (made.nameless) {
        const int named = link_opened(made.opened.get(), directory, made.leaf);
        if (named != EEXIST) return named;
        // Somebody was faster: over that, by a rename.
        std::string partial = partial_name(made.leaf);
        const int error = link_opened(made.opened.get(), directory, partial);
        if (error != 0) return error;
        made.partial = std::move(partial);
    }
    const int error =
        errno_of(::renameat(directory, made.partial.c_str(), directory, made.leaf.c_str()));
    if (error == 0) made.partial.clear();
    return error;
}

// What stays; nothing, and errno.
Descriptor standing(const Made& made) {
    return Descriptor(::openat(made.directory->opened.get(), made.leaf.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

// errno, or 0.
int flush_file(const Made& made) {
    if (made.opened) return errno_of(flush_opened(made.opened.get()));
    if (!made.stays) return 0;
    const Descriptor file = standing(made);
    if (file) return errno_of(::fsync(file.get()));
    if (errno == ELOOP) return 0;  // a link is part of its directory
    if (errno != EACCES) return errno;
    // Not ours to read: with all its file system, as far as that can be.
    const Descriptor beside = readable(*made.directory);
    return beside ? errno_of(::syncfs(beside.get())) : errno;
}

}  // namespace

void Made::abandon() {
    if (!partial.empty()) ::unlinkat(directory->opened.get(), partial.c_str(), 0);
    partial.clear();
}

std::atomic<std::size_t> Finisher::in_hand_ = 0;

Finisher::Finisher(Done done) : done_(std::move(done)), most_in_hand_(files_to_open() / 3) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Finisher::~Finisher() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    more_.notify_one();
    thread_.join();
}

void Finisher::put(Made made) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return has_room(); });
    ++in_hand_;
    ++came_;
    waiting_.push_back(std::move(made));
    if (waiting_.size() == 1 || !has_room()) more_.notify_one();
}

// Who waits for room has some in hand himself, and is woken when they are taken.
bool Finisher::has_room() const {
    return waiting_.size() < kFewestWaiting ||
           (waiting_.size() < kMostWaiting && in_hand_ < most_in_hand_);
}

std::vector<Made> Finisher::take(bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) more_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    gather(lock);
    std::vector<Made> taken = std::exchange(waiting_, {});
    room_.notify_one();
    return taken;
}

// Until a batch is full, or no more comes. A few are not worth a wait, and who waits for one file
// does not want it.
void Finisher::gather(std::unique_lock<std::mutex>& lock) {
    const auto may_wait = [this] {
        return !stopping_ && waiting_.size() >= kFewestShared && has_room();
    };
    const Time until = Clock().now() + kLongestWait;
    for (std::uint64_t seen = 0; may_wait() && seen != came_ && Clock().now() < until;) {
        seen = came_;
        more_.wait_for(lock, kPause, [&] { return !may_wait(); });
    }
}

void Finisher::run() {
    while (true) {
        std::vector<Made> fresh = take(named_.empty());
        if (fresh.empty() && named_.empty()) return;
        const std::size_t count = fresh.size();
        finish(std::move(fresh));
        in_hand_ -= count;
    }
}

void Finisher::finish(std::vector<Made> fresh) {
    finish_whole(fresh);
    if (shares(fresh)) {
        shared_barrier(fresh);
        tell_named();
        read_back_all(fresh);
        give_names(fresh);
        close_named();
        return;
    }
    const Time start = Clock().now();
    const auto count = static_cast<double>(fresh.size() + named_.size());
    flush_files(fresh);
    read_back_all(fresh);
    give_names(fresh);
    flush_directories();
    tell_named();
    if (count > 0) flush_us_ += kWeight * (microseconds_since(start) / count - flush_us_);
    barrier_us_ *= kForget;
}

bool Finisher::shares(const std::vector<Made>& fresh) {
    const std::size_t count = fresh.size() + named_.size();
    if (count < kFewestShared || barrier_us_ >= static_cast<double>(count) * flush_us_)
        return false;
    // What is in named_ came by a shared batch: all that it lies on has a barrier.
    return std::all_of(fresh.begin(), fresh.end(), [this](const Made& made) {
        return (!made.directory ||
                has_barrier(made.directory->device, made.directory->opened.get())) &&
               (!made.opened || has_barrier(made.device, made.opened.get()));
    });
}

bool Finisher::has_barrier(dev_t device, int file) {
    const auto [at, is_new] = barriers_.emplace(device, false);
    struct statfs where {};
    if (is_new && ::fstatfs(file, &where) == 0) at->second = syncfs_is_barrier(where.f_type);
    return at->second;
}

// One flush for each file system, which covers the data of `fresh` and the names of named_.
void Finisher::shared_barrier(std::vector<Made>& fresh) {
    const Time start = Clock().now();
    std::map<dev_t, int> results;
    // A file's own descriptor first: it was opened before its data were written, so it hears of
    // every error since.
    for (const auto* made : {&fresh, &named_}) {
        for (const Made& each : *made) {
            if (!each.opened || results.contains(each.device)) continue;
            results[each.device] = errno_of(::syncfs(each.opened.get()));
        }
    }
    for (const auto* made : {&fresh, &named_}) {
        for (const Made& each : *made) {
            if (!each.directory || results.contains(each.directory->device)) continue;
            const Descriptor directory = readable(*each.directory);
            results[each.directory->device] =
                directory ? errno_of(::syncfs(directory.get())) : errno;
        }
    }
    barrier_us_ += kWeight * (microseconds_since(start) - barrier_us_);
    const auto result = [&](const Made& made) {
        const int holder = made.directory ? results.at(made.directory->device) : 0;
        const auto own = results.find(made.device);
        return holder != 0 || own == results.end() ? holder : own->second;
    };
    fail_if(fresh, result, "cannot flush");
    fail_if(named_, result, kNamedNotFlushed);
}

void Finisher::flush_files(std::vector<Made>& fresh) {
    fail_if(fresh, flush_file, "cannot flush");
}

void Finisher::flush_directories() {
    std::map<const TargetDirectories::Directory*, int> results;
    for (const Made& made : named_) {
        const auto [at, is_new] = results.emplace(made.directory.get(), 0);
        if (!is_new) continue;
        const Descriptor directory = readable(*made.directory);
        const int unreadable = errno;
        // A directory may be writable and yet not readable: then its whole file system.
        const Descriptor stays = made.stays && !directory ? standing(made) : Descriptor();
        const bool lends = stays && has_barrier(made.device, stays.get());
        const int whole = directory ? -1 : lends ? stays.get() : barrier_of(made.directory->device);
        at->second = directory    ? errno_of(flush_opened(directory.get()))
                     : whole >= 0 ? errno_of(::syncfs(whole))
                                  : unreadable;
    }
    fail_if(
        named_, [&](const Made& made) { return results.at(made.directory.get()); },
        kNamedNotFlushed);
}

// An open file on it, for syncfs(); -1: none, or it has no barrier.
int Finisher::barrier_of(dev_t device) {
    for (const Made& made : named_) {
        if (made.opened && made.device == device)
            return has_barrier(device, made.opened.get()) ? made.opened.get() : -1;
    }
    return -1;
}

// Their data are durable, and one file on each file system is enough to flush their names.
void Finisher::close_named() {
    std::set<dev_t> held;
    for (Made& made : named_) {
        if (made.opened && !held.insert(made.device).second) made.opened = {};
    }
}

// What differs is mended; what cannot be is no file.
void Finisher::read_back_all(std::vector<Made>& fresh) {
    std::erase_if(fresh, [&](Made& made) {
        if (!made.to_read_back) return false;
        const auto proved = read_back(*made.to_read_back);
        if (proved) return false;
        made.abandon();  // before anybody hears of it
        done_(made, proved.error());
        return true;
    });
}

void Finisher::give_names(std::vector<Made>& fresh) {
    fail_if(fresh, give_name, "cannot give the file its name");
    for (Made& made : fresh) {
        if (made.directory) {
            named_.push_back(std::move(made));
        } else {
            done_(made, std::nullopt);
        }
    }
}

void Finisher::finish_whole(std::vector<Made>& fresh) {
    std::erase_if(fresh, [&](Made& made) {
        if (made.whole == nullptr) return false;
        Result<bool> committed = true;
        if (made.to_read_back) {
            const auto proved = read_back(*made.to_read_back);
            if (!proved) committed = proved.error();
        }
        if (committed) committed = commit(*made.whole, made.metadata);
        made.unowned = committed && !*committed;
        // Closed, and its partial file removed after an error, before anybody hears of it.
        made.whole.reset();
        done_(made, committed ? std::optional<Error>() : committed.error());
        return true;
    });
}

void Finisher::fail_if(std::vector<Made>& all, const std::function<int(Made&)>& error_number,
                       const char* what) {
    std::erase_if(all, [&](Made& made) {
        const int error = error_number(made);
        if (error == 0) return false;
        made.abandon();  // before anybody hears of it
        done_(made, file_error(what, made.path, error));
        return true;
    });
}

void Finisher::tell_named() {
    for (const Made& made : named_) done_(made, std::nullopt);
    named_.clear();
}

}  // namespace lambda::io
