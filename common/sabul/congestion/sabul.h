// `sabul`, the default law: one instance governs a whole transfer, whatever its stripes
// (docs/congestion.md has the theory). A rate R is multiplied, once for each round trip, by the
// share of the sending speed that got through ("fate") and by a small step towards the rate at
// which its own target delay equals the price that it pays, in queueing delay and in loss above the
// path's ambient loss. Nothing depends on when an ACK arrived: only on departures by our clock and
// arrivals by the receiver's.
#pragma once

#include <optional>

#include "common/sabul/congestion/ambient_loss.h"
#include "common/sabul/congestion/arrivals.h"
#include "common/sabul/congestion/contest.h"
#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/longer_route.h"
#include "common/sabul/congestion/rival.h"
#include "common/sabul/congestion/signals/limited_times.h"
#include "common/sabul/congestion/signals/loss_window.h"
#include "common/sabul/congestion/signals/rate_history.h"
#include "common/sabul/congestion/start.h"

namespace lambda::sabul {

class Sabul final : public Law {
  public:
    explicit Sabul(const LawSettings& settings);
    void on_ack(const AckSample& sample) override;
    void on_loss(const LossSample& sample) override;
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override { return BitRate::from_bytes_per_second(sending_); }
    double window() const override { return window_; }

    bool starting() const { return !start_.over(); }
    double ambient_loss() const { return ambient_.value(); }

  private:
    void restart(Time now, double rate);
    bool in_vain(Time now) const;
    bool is_step(Duration arrived);
    Arrivals::Span lately(Time now, Duration width, Duration least) const {
        return arrivals_.lately(now, width, least, round());
    }
    void start_up(Time now, const AckSample& sample);
    void leave_start(Time now, double delivered);
    void judge_start(const Arrivals::Span& span);
    void step(Time now);
    void contend(Time now, const Arrivals::Span& span);
    void drain(Time now);
    void doubt_base(Time now);
    double bounded(double rate) const;
    void set_rate(Time now, double rate);
    void apply(Time now);
    double ambient_part(const LossSample& sample) const;
    double recent_loss(Time now) const;
    double loss_excess(Time now) const;
    // Its loss was ours, and has been answered.
    bool left_in_start(Time sent) const { return emptied_ && !starting() && sent <= started_; }
    // Between two steps, and what a rate is taken over, but in the start: an ACK comes about every
    // SYN.
    Duration least_span() const { return 3 * settings_.syn / 4; }
    Duration usual_width() const { return std::max<Duration>(rtt_ / 4, 2 * settings_.syn); }
    Duration round() const { return rtt_ + settings_.syn; }

    LawSettings settings_;
    Arrivals arrivals_;
    double rate_;     // R, bytes a second
    double sending_;  // what leaves, after brake, dip and drain
    double window_;
    double packet_bytes_ = 1440;
    RateHistory rates_;  // of rate_
    RateHistory sendings_;
    LimitedTimes limited_;
    LossWindow losses_;
    double loss_deviation_ = 0, loss_mean_ = 0;
    Duration rtt_{0};
    Duration longest_rtt_{0}, last_longest_{0};  // of this and the last half second
    Time longest_end_{};
    Time last_ack_{};
    Time passed_{};             // when something of a file was last told to have arrived
    double lost_in_vain_ = 0;   // packets, since then
    Duration last_arrived_{0};  // at the last step
    double lean_ = 0;           // the step towards the target, smoothed over rounds

    Start start_;
    Time started_{};                           // when it was over
    bool emptying_ = false, emptied_ = false;  // the queue that it left

    AmbientLoss ambient_;
    LongerRoute longer_;
    Time drain_from_{}, drain_to_{};
    int lossy_steps_ = 0;
    Rival rival_;
    std::optional<Contest> contest_;
};

}  // namespace lambda::sabul
