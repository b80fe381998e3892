// Tells a path that stood still from a queue that grew. A host that forwards and is busy, or a
// hypervisor that runs another guest, holds everything back for milliseconds and lets it go in one
// bunch: the delay jumps between two packets that left together, and falls again as fast. A queue
// grows no faster than its senders outrun it. Whoever answers to the jump as to a queue gives his
// rate away for nothing.
//
// What a standstill added to the delay is taken off, until it is gone; what has not gone after some
// round trips is a queue like any other. Packets that were under way to it are lost for reasons
// that say nothing of the rate. Pure.
#pragma once

#include <algorithm>
#include <cmath>

#include "common/base/time.h"
#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

class Standstill {
  public:
    // The part of this passage's queueing delay that a standstill explains. Passages in order,
    // heard of now.
    Duration add(Time now, const Passage& passage, Duration queue, Duration round) {
        const Duration apart = passage.sent - last_.sent;
        const Duration jump = queue - last_queue_;
        const double waited = seconds(passage.arrived - last_.arrived);
        if (last_.sent != Time{} && waited >= 0) {
            held_ *= std::exp2(-waited / half_life_);
            // Twice in a row is a slope.
            const bool jumped = apart.count() >= 0 && jump > kLeast + kSteepest * apart;
            if (jumped && !jumped_) {
                held_ += seconds(jump);
                from_ = last_.sent;
                to_ = std::min(passage.sent + jump, now);
                half_life_ = seconds(jump + kHalfLife * round);
            }
            jumped_ = jumped;
        }
        last_ = passage;
        last_queue_ = queue;
        held_ = std::min(held_, seconds(queue));
        return from_seconds(held_);
    }
    // Most of what left between these times met the last standstill.
    bool met(Time first_sent, Time last_sent) const {
        return first_sent >= from_ && first_sent + (last_sent - first_sent) / 2 <= to_;
    }

  private:
    static constexpr Duration kLeast = std::chrono::milliseconds(1);
    static constexpr int kSteepest = 4;  // a queue grows so many times faster than time at most
    static constexpr int kHalfLife = 2;  // round trips

    Passage last_{};
    Duration last_queue_{0};
    double held_ = 0;       // s
    double half_life_ = 1;  // s
    bool jumped_ = false;
    Time from_{}, to_{};
};

}  // namespace lambda::sabul
