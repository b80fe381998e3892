// `sabul`: our own law, one instance for a whole transfer. SABUL's frame (a rate, corrected every
// SYN, window = rate (RTT + SYN)) with its faults mended: it starts by doubling, increases
// continuously in place of decades, follows what is delivered, and takes loss below 2 % for noise.
//
// Start: the rate is twice what was delivered, until delivery grew by less than a quarter in each
// of three rounds, or in one that ended with a standing queue or with more than a tenth lost.
// Cruise: + 5 % a round, up to a quarter above the best delivery of the last ten rounds; where a
// queue of ours stands, 90 % of that best; where the loss of a round is above 2 %, 95 % of what the
// round delivered. A rate that was not used fades by 1 % a round. A round is RTT + SYN.
#pragma once

#include <array>

#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

class Sabul final : public Law {
  public:
    explicit Sabul(const LawSettings& settings);
    void on_ack(const AckSample&) override {}
    void on_loss(const LossSample&) override {}
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override { return BitRate::from_bytes_per_second(rate_); }
    double window() const override { return window_; }

    bool starting() const { return starting_; }

  private:
    void end_round(const SynSample& sample);
    void start(const SynSample& sample);
    double best_delivery() const;
    void cruise(const SynSample& sample);
    bool queue_stands(const SynSample& sample) const;
    bool feeds_queue(const SynSample& sample, double best);
    double round_loss() const;

    LawSettings settings_;
    double rate_;  // file bytes a second
    double window_;
    bool starting_ = true;
    // The present round.
    Duration round_elapsed_{0};
    std::uint64_t round_sent_ = 0, round_lost_ = 0;
    double round_delivered_ = 0;  // the most that a SYN of it saw
    Duration round_queue_ = Duration::max();
    bool round_limited_ = false;
    std::array<double, 10> deliveries_{};  // of the last rounds, a ring
    std::size_t next_delivery_ = 0;
    int foreign_rounds_ = 0;  // rounds for which a standing queue is not taken for ours
    // Rounds of the start without growth.
    double best_delivered_ = 0;
    int flat_rounds_ = 0;
};

}  // namespace lambda::sabul
