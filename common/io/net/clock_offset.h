// Times of arrival, which the kernel tells by CLOCK_REALTIME, by CLOCK_MONOTONIC, of which ours
// are. Both have to be read, one after the other, and a thread may be stopped for milliseconds in
// between: an offset that is too large by them dates arrivals back, and a delay that is too small
// counts as the path's own for seconds. So does a clock that is set between an arrival and its
// reading. Where in doubt, what is read came now: who arrives late does no harm. Pure.
#pragma once

#include <algorithm>
#include <optional>

#include "common/base/time.h"

namespace lambda::io {

class ClockOffset {
  public:
    // What a reading that nothing came between takes, with room.
    static constexpr Duration kQuick = std::chrono::microseconds(5);
    // By more the offset differs where CLOCK_REALTIME was set alone: whatever slews it slews both.
    static constexpr Duration kSet = std::chrono::microseconds(100);
    // By so much arrivals may be out of order.
    static constexpr Duration kDisorder = std::chrono::milliseconds(1);

    // Before the arrivals of each reading of a socket: CLOCK_REALTIME, read between two readings of
    // CLOCK_MONOTONIC. A slow one is no better than the one before.
    void read(Time before, Time real, Time after) {
        now_ = after;
        earliest_ = latest_ - kDisorder;
        set_ = false;
        if (ahead_ && after - before > kQuick) return;
        const Duration ahead = real - after;  // never too large
        set_ = ahead_ && std::chrono::abs(ahead - *ahead_) > kSet;
        ahead_ = ahead;
    }
    // When that came which has this stamp; no later than now, nor before what was read before it.
    Time arrival(Time stamp) {
        Time arrived = stamp - *ahead_;
        if (set_ || arrived > now_ || arrived < earliest_) arrived = now_;
        latest_ = std::max(latest_, arrived);
        return arrived;
    }

  private:
    std::optional<Duration> ahead_;
    bool set_ = false;
    Time now_{}, earliest_{}, latest_{};
};

}  // namespace lambda::io
