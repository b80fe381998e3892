#include "common/io/disk/load_rules.h"

#include <algorithm>
#include <utility>

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

}  // namespace lambda::io
