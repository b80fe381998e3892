// Flows that fill the queue whatever it costs (loss-based TCP, BBR), seen from a law that gives way
// to delay: how they are told from flows of our own kind. How a share is held beside them is
// contest.h's. Pure.
//
// Found, while we have next to nothing of what we had:
// - Flows of this law alone would keep a queue of kForeign only if each had less than some
//   2 Mbit/s; one that stands higher for seconds is somebody else's.
// - So is one that surges far above again and again, once all have settled: BBR's.
// - By a challenge: a tenth of our best more, for seconds. Flows of this law make room, and the
//   queue is what it was; others do not, and it grows.
// - Again, soon after a contest was left: our share falls as it did before.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <random>

#include "common/base/time.h"
#include "common/sabul/congestion/contest.h"

namespace lambda::sabul {

class Rival {
  public:
    explicit Rival(std::uint64_t seed) : random_(static_cast<std::uint32_t>(seed) + 1) {}

    // One step of the law: its rate (bytes a second) and the queueing delay (seconds). True: there
    // are rivals, and terms() are those to contend on.
    bool watch(Time now, double rate, double queue, Duration round);
    const ContestTerms& terms() const { return terms_; }
    // A contest ended so.
    void left(Time now, const ContestTerms& terms);

    // More than the law's rate is sent, or was in the last round trip.
    bool challenging() const { return challenge_to_ != Time{}; }
    // Bytes a second; 0: what the law says.
    double challenge(Time now) const { return now < challenge_to_ ? challenge_rate_ : 0; }

  private:
    bool stands(Time now, double queue, Duration round);
    bool surges(Time now, double queue, Duration round);
    bool began_lately(Time now) const;
    bool fell_again(Time now, double rate) const;
    void begin_challenge(Time now, double rate, Duration round);
    bool judge_challenge(Time now, double queue, Duration round);

    static constexpr double kNone = std::numeric_limits<double>::infinity();
    std::minstd_rand random_;
    ContestTerms terms_;
    double best_ = 0;         // highest rate, fading
    double usual_queue_ = 0;  // s, smoothed
    // A standing queue.
    double least_ = kNone, last_least_ = 0;  // of this stretch and the one before, s
    Time stretch_end_{}, first_step_{};
    Time surged_{}, surging_since_{};
    // A challenge.
    Time poor_since_{};
    Duration patience_{0};
    Time challenge_from_{}, challenge_to_{};
    double challenge_rate_ = 0;
    struct Answer {  // of a part of it, in steps
        int all = 0, grown = 0, foreign = 0;
    };
    std::array<Answer, 6> answers_;
    // The last contest.
    Time left_at_{};
};

}  // namespace lambda::sabul
