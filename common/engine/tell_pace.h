// When a stripe of the receiver may tell again, ACK or NAK. TCP hands over in order: where it loses
// what goes back, or has no window for it, less is told, and more with each, so that it is not old
// when it comes (docs/decisions/0016). Pure; engine thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "common/base/time.h"
#include "common/ports/feedback.h"

namespace lambda::engine {

class TellPace {
  public:
    explicit TellPace(Duration syn) : syn_(syn) {}

    Time next() const { return next_; }
    // What TCP knows of the way back.
    void measured(const ports::FeedbackChannel::Carriage& by) {
        const Duration wanted = from_seconds(seconds(by.round_trip) * by.lost / kMostLost);
        const bool as_ever = by.round_trip < 2 * syn_ || wanted < syn_ / 4;
        pause_ = as_ever ? Duration{0} : std::clamp(wanted, syn_, longest());
    }
    // `backlog`: bytes that wait for TCP's window, this word's among them.
    void told(Time now, Duration round_trip, std::size_t backlog) {
        const bool late = round_trip >= 2 * syn_ && backlog > kMostBacklog;
        next_ = now + (late ? longest() : pause_);
    }
    // A new connection has nothing on its way. Its path is the same.
    void renew() { next_ = Time{}; }

  private:
    // Of the segments that are on their way back: where more of them got lost, one or another would
    // always hold up all behind it, for a round trip and more.
    static constexpr double kMostLost = 0.3;
    static constexpr std::size_t kMostBacklog = 1400;  // a segment
    // From 4 SYNs on a law takes the stripe for held up.
    Duration longest() const { return 3 * syn_; }

    Duration syn_;
    Duration pause_{0};
    Time next_{};
};

}  // namespace lambda::engine
