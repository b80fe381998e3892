// Time and Duration of the monotonic clock, in nanoseconds. The core takes `now` as a parameter;
// common/io/clock.h alone reads the clock.
#pragma once

#include <chrono>

namespace lambda {

using Duration = std::chrono::nanoseconds;

struct MonotonicClock {
    using rep = Duration::rep;
    using period = Duration::period;
    using duration = Duration;
    using time_point = std::chrono::time_point<MonotonicClock>;
    static constexpr bool is_steady = true;
};

using Time = MonotonicClock::time_point;

constexpr Time kNever = Time::max();

constexpr double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// At most 126 years, which is also what no number is: sums of it with any Time still count.
constexpr Duration from_seconds(double value) {
    constexpr double kMost = 4e9;
    if (!(value < kMost)) value = kMost;
    if (value < -kMost) value = -kMost;
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

}  // namespace lambda
