// By how much CLOCK_REALTIME, of which the kernel's time of arrival is, is ahead of
// CLOCK_MONOTONIC, of which ours are. Both have to be read, one after the other, and a thread may
// be stopped for milliseconds in between: an offset that is too large by them dates arrivals back,
// and a delay that is too small counts as the path's own for seconds. Pure.
#pragma once

#include <optional>

#include "common/base/time.h"

namespace lambda::io {

class ClockOffset {
  public:
    // What a reading that nothing came between takes, with room.
    static constexpr Duration kQuick = std::chrono::microseconds(5);

    // CLOCK_REALTIME, read between two readings of CLOCK_MONOTONIC. A slow reading is no better
    // than the one before, which the clock's own corrections move by nanoseconds.
    void read(Time before, Time real, Time after) {
        if (ahead_ && after - before > kQuick) return;
        ahead_ = real - after;  // never too large: who arrives late does no harm
    }
    // After the first reading.
    Time monotonic(Time real) const { return real - *ahead_; }

  private:
    std::optional<Duration> ahead_;
};

}  // namespace lambda::io
