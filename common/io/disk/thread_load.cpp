#include "common/io/disk/thread_load.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "common/io/machine.h"
#include "common/io/process.h"

namespace lambda::io {
namespace {

// Who was given so much of a processor does nothing but work ...
constexpr double kBusy = 0.75;
// ... and where it waited for it no longer than that, another was free.
constexpr double kFree = 0.1;
// Who neither runs nor waits to sleeps: here for something else than a processor, be it the one
// that took the work over, which is slower at it where the two share no cache.
constexpr double kAwake = 0.75;
// Of a processor: who has less does a small part of the work, and holds up the rest.
constexpr double kIdle = 0.5;
// A block takes 0.3 ms, and now and then 20 where a host has to find its pages.
constexpr Duration kHeldUp = std::chrono::milliseconds(50);
// By so many readings one after the other: a single one may have met anything.
constexpr unsigned kAgainst = 4;
// Twice as long each time, unless it went well for a while before: a quota of processor time looks
// like this for ever, and what one meets by chance does not.
constexpr Duration kFirstPause = std::chrono::milliseconds(500);
constexpr Duration kLongestPause = std::chrono::seconds(8);
constexpr int kWentWell = 2;  // pauses

using Text = std::array<char, 96>;
// Empty where there is nothing to read.
Text read(const Descriptor& file) {
    Text text{};
    if (!file || ::pread(file.get(), text.data(), text.size() - 1, 0) <= 0) text[0] = 0;
    return text;
}

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

bool Spare::look(const Reading& reading) {
    const auto last = std::exchange(last_, reading);
    const bool own = !std::exchange(left_, false);
    next_ = reading.at + kInterval;
    if (!last || !own || reading.at <= last->at) return false;
    const double wall = seconds(reading.at - last->at);
    left_ = seconds(reading.ran - last->ran) >= kBusy * wall &&
            seconds(reading.waited - last->waited) <= kFree * wall &&
            reading.idle - last->idle >= kIdle * wall;
    if (!left_) {
        while_ = kFirst;
        return false;
    }
    leave(reading.at);
    return true;
}

void Spare::pass(Time now) {
    last_.reset();
    left_ = false;
    next_ = now + kInterval;
}

void Spare::leave(Time now) {
    left_ = true;
    next_ = now + std::exchange(while_, std::min(2 * while_, kLongest));
}

bool ThreadLoad::overloaded(Duration watched) {
    const Time now = Clock().now();
    if (now < next_) return overloaded_;
    next_ = now + Overload::kInterval;
    const auto known = times(watched);
    return overloaded_ =
               known && rule_.look({.at = now, .ran = known->ran, .waited = known->waited});
}

bool ThreadLoad::spare(Duration watched) {
    const Time now = Clock().now();
    if (now < spare_rule_.next()) return spare_;
    const auto known = times(watched);
    const auto rest = idle();
    if (!known || !rest) {
        spare_rule_.pass(now);
        return spare_ = false;
    }
    return spare_ = spare_rule_.look(
               {.at = now, .ran = known->ran, .waited = known->waited, .idle = *rest});
}

void ThreadLoad::spent(Duration time) {
    if (time < kHeldUp) return;
    spare_rule_.leave(Clock().now());
    spare_ = true;
}

// What the thread ran is by the last tick in the kernel's text, and its clock knows it to the
// moment. A kernel that does not keep the times prints zeros.
std::optional<ThreadLoad::Times> ThreadLoad::times(Duration watched) {
    if (!std::exchange(asked_, true))
        schedstat_ = Descriptor(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    const Text text = read(schedstat_);
    long long ran = 0, waited = 0;
    if (std::sscanf(text.data(), "%lld %lld", &ran, &waited) != 2 || ran == 0) return std::nullopt;
    return Times{Clock().thread_cpu() - watched, Duration(waited)};
}

// Of processors that this process may not use it says nothing that would help.
std::optional<double> ThreadLoad::idle() {
    if (!std::exchange(idle_asked_, true) && usable_processors() == ::sysconf(_SC_NPROCESSORS_ONLN))
        uptime_ = Descriptor(::open("/proc/uptime", O_RDONLY | O_CLOEXEC));
    const Text text = read(uptime_);
    double up = 0, idle = 0;
    if (std::sscanf(text.data(), "%lf %lf", &up, &idle) != 2) return std::nullopt;
    return idle;
}

}  // namespace lambda::io
