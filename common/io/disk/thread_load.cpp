#include "common/io/disk/thread_load.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "common/io/machine.h"

namespace lambda::io {
namespace {

// Who was given so much of a processor does nothing but work ...
constexpr double kBusy = 0.75;
// ... and where it waited for it no longer than that, another was free.
constexpr double kFree = 0.1;
// Who neither runs nor waits to sleeps: here for something else than a processor, be it the one
// that took the work over, which is slower at it where the two share no cache.
constexpr double kAwake = 0.75;
// By so many readings one after the other: a single one may have met anything.
constexpr unsigned kAgainst = 4;
// Twice as long each time, unless it went well for a while before: a quota of processor time looks
// like this for ever, and what one meets by chance does not.
constexpr Duration kFirstPause = std::chrono::milliseconds(500);
constexpr Duration kLongestPause = std::chrono::seconds(8);
constexpr int kWentWell = 2;  // pauses

}  // namespace

bool Overload::look(const Reading& reading) {
    const auto last = std::exchange(last_, reading);
    if (!last || reading.at <= last->at) return overloaded_;
    const double wall = seconds(reading.at - last->at);
    const double ran = seconds(reading.ran - last->ran) / wall;
    const double waited = seconds(reading.waited - last->waited) / wall;
    if (!overloaded_) {
        overloaded_ = ran >= kBusy && waited <= kFree && reading.at >= not_before_;
        since_ = reading.at;
        against_ = 0;
        return overloaded_;
    }
    // Who waits longer than it runs is one of many, and a further thread makes that worse.
    against_ = waited > ran || ran + waited < kAwake ? against_ + 1 : 0;
    if (against_ == kAgainst) {
        overloaded_ = false;
        const bool by_chance = reading.at - since_ >= kWentWell * pause_;
        pause_ = by_chance ? kFirstPause : std::min(2 * pause_, kLongestPause);
        not_before_ = reading.at + pause_;
    }
    return overloaded_;
}

bool ThreadLoad::overloaded(Duration watched) {
    Clock clock;
    const Time now = clock.now();
    if (now < next_) return overloaded_;
    next_ = now + Overload::kInterval;
    if (!std::exchange(asked_, true))
        schedstat_ = Descriptor(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    std::array<char, 96> text{};
    if (!schedstat_ || ::pread(schedstat_.get(), text.data(), text.size() - 1, 0) <= 0)
        return overloaded_ = false;
    // What the thread ran is by the last tick here, and its clock knows it to the moment. A kernel
    // that does not keep the times prints zeros.
    long long ran = 0, waited = 0;
    if (std::sscanf(text.data(), "%lld %lld", &ran, &waited) != 2 || ran == 0)
        return overloaded_ = false;
    overloaded_ =
        rule_.look({.at = now, .ran = clock.thread_cpu() - watched, .waited = Duration(waited)});
    return overloaded_;
}

}  // namespace lambda::io
