// Tells a route that has become longer from a queue. A delay far above the target that stays what
// it is though we send less and less is none of our making, nor anybody's who answers to it. Among
// flows of this law a queue that high is braked for by all, and moves. Pure.
#pragma once

#include <algorithm>
#include <optional>

#include "common/base/time.h"
#include "common/sabul/congestion/signals/rate_history.h"

namespace lambda::sabul {

class LongerRoute {
  public:
    struct Found {
        double by = 0;    // s
        double rate = 0;  // from before it, given up for nothing; bytes a second
    };

    // At each step: the delay above the path's and the target, in seconds.
    std::optional<Found> step(Time now, Duration round, double waiting, double target,
                              const RateHistory& rates) {
        if (waiting < kDoubt * target) {
            reset();
            return std::nullopt;
        }
        if (since_ == Time{}) rate_ = rates.mean(now - 3 * round, now - round);
        const bool steady =
            since_ != Time{} && waiting < kSteady * least_ && most_ < kSteady * waiting;
        if (!steady) {
            since_ = now;
            least_ = most_ = waiting;
        }
        least_ = std::min(least_, waiting);
        most_ = std::max(most_, waiting);
        // Long enough for flows of much longer round trips to answer, too.
        if (now - since_ < std::max<Duration>(3 * round, std::chrono::seconds(1)))
            return std::nullopt;
        reset();
        return Found{.by = least_, .rate = rate_};
    }
    void reset() { since_ = Time{}; }

  private:
    static constexpr double kDoubt = 4;  // target delays: a queue that is not ours to price
    static constexpr double kSteady = 1.125;

    Time since_{};  // it stays what it is
    double rate_ = 0;
    double least_ = 0, most_ = 0;  // s
};

}  // namespace lambda::sabul
