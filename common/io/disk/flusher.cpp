#include "common/io/disk/flusher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/io/clock.h"
#include "common/io/file/file_error.h"
#include "common/io/file/flush.h"
#include "common/io/file/shared_barrier.h"

namespace lambda::io {
namespace {

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

// What stays; nothing, and errno.
Descriptor standing(const Made& made) {
    return Descriptor(open_standing(made.directory->opened.get(), made.leaf));
}

// errno, or 0.
int flush_file(const Made& made) {
    if (made.opened) return errno_of(flush_opened(made.opened.get()));
    if (!made.stays) return 0;
    const Descriptor file = standing(made);
    if (file) return errno_of(flush_opened(file.get()));
    if (errno == ELOOP) return 0;  // a link is part of its directory
    if (errno != EACCES) return errno;
    // Not ours to read: with all its file system, as far as that can be.
    const Descriptor beside = readable(*made.directory);
    return beside ? errno_of(::syncfs(beside.get())) : errno;
}

}  // namespace

Flusher::Outcome Flusher::flush(const std::vector<Made>& fresh, const std::vector<Made>& named) {
    const Time start = Clock().now();
    if (shares(fresh, named)) {
        Outcome outcome = flush_together(fresh, named);
        barrier_us_ += kWeight * (microseconds_since(start) - barrier_us_);
        return outcome;
    }
    Outcome outcome = flush_each(fresh, named);
    const auto count = static_cast<double>(fresh.size() + named.size());
    if (count > 0) flush_us_ += kWeight * (microseconds_since(start) / count - flush_us_);
    barrier_us_ *= kForget;
    return outcome;
}

bool Flusher::shares(const std::vector<Made>& fresh, const std::vector<Made>& named) {
    const std::size_t count = fresh.size() + named.size();
    if (count < kFewestShared || barrier_us_ >= static_cast<double>(count) * flush_us_)
        return false;
    const auto on_barriers = [this](const Made& made) {
        return (!made.directory ||
                has_barrier(made.directory->device, made.directory->opened.get())) &&
               (!made.opened || has_barrier(made.device, made.opened.get()));
    };
    return std::all_of(fresh.begin(), fresh.end(), on_barriers) &&
           std::all_of(named.begin(), named.end(), on_barriers);
}

bool Flusher::has_barrier(dev_t device, int file) {
    const auto [at, is_new] = barriers_.emplace(device, false);
    struct statfs where {};
    if (is_new && ::fstatfs(file, &where) == 0) at->second = syncfs_is_barrier(where.f_type);
    return at->second;
}

// One flush for each file system.
Flusher::Outcome Flusher::flush_together(const std::vector<Made>& fresh,
                                         const std::vector<Made>& named) {
    std::map<dev_t, int> results;
    // A file's own descriptor first: it was opened before its data were written, so it hears of
    // every error since.
    for (const auto* made : {&fresh, &named}) {
        for (const Made& each : *made) {
            if (!each.opened || results.contains(each.device)) continue;
            results[each.device] = errno_of(::syncfs(each.opened.get()));
        }
    }
    // One that may be written need not be readable, nor what stays in it; others serve then.
    std::map<dev_t, int> unreadable;
    for (const auto* made : {&fresh, &named}) {
        for (const Made& each : *made) {
            if (!each.directory || results.contains(each.directory->device)) continue;
            Descriptor lent = readable(*each.directory);
            if (!lent && each.stays && each.device == each.directory->device) lent = standing(each);
            if (lent)
                results[each.directory->device] = errno_of(::syncfs(lent.get()));
            else
                unreadable[each.directory->device] = errno;
        }
    }
    results.merge(unreadable);
    const auto result = [&](const Made& made) {
        const int holder = made.directory ? results.at(made.directory->device) : 0;
        const auto own = results.find(made.device);
        return holder != 0 || own == results.end() ? holder : own->second;
    };
    Outcome outcome;
    std::transform(fresh.begin(), fresh.end(), std::back_inserter(outcome.fresh), result);
    std::transform(named.begin(), named.end(), std::back_inserter(outcome.named), result);
    return outcome;
}

Flusher::Outcome Flusher::flush_each(const std::vector<Made>& fresh,
                                     const std::vector<Made>& named) {
    Outcome outcome;
    std::transform(fresh.begin(), fresh.end(), std::back_inserter(outcome.fresh), flush_file);
    std::map<const TargetDirectories::Directory*, int> results;
    for (const Made& made : named) {
        const auto [at, is_new] = results.emplace(made.directory.get(), 0);
        if (is_new) at->second = flush_directory(made, named);
        outcome.named.push_back(at->second);
    }
    return outcome;
}

// The directory that holds it. One may be writable and yet not readable: then its whole file
// system.
int Flusher::flush_directory(const Made& within, const std::vector<Made>& named) {
    const Descriptor directory = readable(*within.directory);
    if (directory) return errno_of(flush_opened(directory.get()));
    const int unreadable = errno;
    const Descriptor stays = within.stays ? standing(within) : Descriptor();
    const bool lends = stays && has_barrier(within.device, stays.get());
    const int whole = lends ? stays.get() : barrier_of(named, within.directory->device);
    return whole >= 0 ? errno_of(::syncfs(whole)) : unreadable;
}

// An open file on it, for syncfs(); -1: none, or it has no barrier.
int Flusher::barrier_of(const std::vector<Made>& named, dev_t device) {
    for (const Made& made : named) {
        if (made.opened && made.device == device)
            return has_barrier(device, made.opened.get()) ? made.opened.get() : -1;
    }
    return -1;
}

}  // namespace lambda::io
