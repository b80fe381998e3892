// `sabul`, the default law: one instance governs a whole transfer, whatever its stripes
// (docs/congestion.md has the theory). A rate R is multiplied, once for each round trip, by the
// share of the sending speed that got through ("fate") and by a small step towards the rate at
// which its own target delay equals the price that it pays, in queueing delay and in loss above the
// path's ambient loss. Nothing depends on when an ACK arrived: only on departures by our clock and
// arrivals by the receiver's.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "common/sabul/congestion/contest.h"
#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/rival.h"
#include "common/sabul/congestion/signals/loss_window.h"
#include "common/sabul/congestion/signals/one_way_delay.h"
#include "common/sabul/congestion/signals/passages.h"
#include "common/sabul/congestion/signals/rate_history.h"
#include "common/sabul/congestion/signals/standstill.h"
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
    double ambient_loss() const { return ambient_; }

  private:
    struct Stripe {
        explicit Stripe(Duration base_life) : delay(base_life) {}
        OneWayDelay delay;
        Standstill standstill;
        Passages passages;
        std::uint64_t bytes = 0;
        Time heard{};
        double waiting = 0;       // s, least of the last ACK
        double queue = 0;         // s, of it that no standstill explains
        double smooth_queue = 0;  // s
    };
    struct Span {  // what passed lately, over all stripes
        Time sent_from{}, sent_to{};
        double fate = 1;
        double delivered = 0;  // bytes a second
        bool known = false;
    };

    void restart(Time now, double rate);
    bool in_vain(Time now) const;
    bool is_step(Duration arrived);
    void take_passages(Stripe& stripe, const AckSample& sample);
    // Of stripes whose arrivals span `least` at least.
    Span lately(Time now, Duration width, Duration least) const;
    Span lately(Time now, Duration width) const { return lately(now, width, least_span()); }
    void start_up(Time now, const AckSample& sample);
    void leave_start(Time now, double delivered);
    void judge_start(const Span& span);
    void step(Time now);
    void contend(Time now, const Span& span);
    void probe_loss(Time now);
    void judge_ambient(double recent);
    bool is_path_loss() const;
    void expire_base(Time now);
    void doubt_base(Time now);
    double bounded(double rate) const;
    void set_rate(Time now, double rate);
    void apply(Time now);
    double ambient_part(const LossSample& sample) const;
    double recent_loss(Time now) const;
    double loss_excess(Time now) const;
    bool was_limited(Time from, Time to) const;
    // Nothing tells of it just now, as while TCP sends its feedback again. For longer: it is dead.
    bool held_up(const Stripe& stripe, Time now) const;
    // Its loss was ours, and has been answered.
    bool left_in_start(Time sent) const { return emptied_ && !starting() && sent <= started_; }
    // Between two steps, and what a rate is taken over, but in the start: an ACK comes about every
    // SYN.
    Duration least_span() const { return 3 * settings_.syn / 4; }
    // Who yields wholly must not take a queue that stands for long for the path.
    Duration base_life() const { return std::chrono::seconds(settings_.competes ? 10 : 60); }
    Duration usual_width() const { return std::max<Duration>(rtt_ / 4, 2 * settings_.syn); }
    Duration round() const { return rtt_ + settings_.syn; }

    LawSettings settings_;
    std::minstd_rand random_;
    std::vector<Stripe> stripes_;
    double rate_;     // R, bytes a second
    double sending_;  // what leaves, after brake, dip and drain
    double window_;
    double packet_bytes_ = 1440;
    RateHistory rates_;  // of rate_
    RateHistory sendings_;
    LossWindow losses_;
    Duration rtt_{0};
    Duration longest_rtt_{0}, last_longest_{0};  // of this and the last half second
    Time longest_end_{};
    Time last_ack_{};
    Time passed_{};             // when something of a file was last told to have arrived
    double lost_in_vain_ = 0;   // packets, since then
    Duration last_arrived_{0};  // at the last step
    double lean_ = 0;           // the step towards the target, smoothed over rounds
    double waiting_ = 0, queue_ = 0, smooth_queue_ = 0;  // s, mean of the stripes
    struct LimitedSpan {
        Time from{}, to{};
    };
    std::deque<LimitedSpan> limited_;

    Start start_;
    Time started_{};                           // when it was over
    bool emptying_ = false, emptied_ = false;  // the queue that it left

    double ambient_ = 0;  // loss that is not ours
    double ambient_lost_ = 0, ambient_packets_ = 0;
    double most_ambient_;     // that is believed
    double beyond_rate_ = 0;  // the highest with which more than that was met; 0: less was met last
    double loss_deviation_ = 0, loss_mean_ = 0;
    Time dip_from_{}, dip_to_{}, next_dip_{}, dip_judged_{};
    double dip_depth_ = 0, dip_lost_ = 0, dip_received_ = 0;
    Time drain_from_{}, drain_to_{};
    Rival rival_;
    std::optional<Contest> contest_;
    Time doubted_since_{};
    double doubted_rate_ = 0;
    double doubted_least_ = 0, doubted_most_ = 0;  // s
    int lossy_acks_ = 0;
};

}  // namespace lambda::sabul
