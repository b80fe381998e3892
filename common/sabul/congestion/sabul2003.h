// `sabul2003`: the rate control of SABUL 2.1, as its source coded it where the paper of 2003 and
// the source differ. One instance for each stripe.
//
// Rule, once a SYN: history = 0.1 history + 0.9 loss; where history is not above 0.1 %, the
// inter-packet time t becomes t SYN / (t inc + SYN) with inc = max(10^ceil(log10(SYN / t)) / 1000,
// 1/1500) packets a SYN. On a NAK: where its lowest number is above the largest sent at the last
// decrease, t grows by 1/8 and sending freezes for a round trip; else every 2^k-th NAK (k = 4, 5,
// ...) since then grows t by 1/8. The paper's own formula for inc is off by a factor of 100 against
// its table; the source agrees with the table. Window: 1, then what each ACK acknowledged, until
// the first NAK or the bound; rate (RTT + SYN) from then on.
#pragma once

#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

class Sabul2003 final : public Law {
  public:
    explicit Sabul2003(const LawSettings& settings);
    void on_ack(const AckSample& sample) override;
    void on_loss(const LossSample& sample) override;
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override;
    double window() const override;
    Time frozen_until() const override { return frozen_until_; }

    // Packets a SYN that the rule adds at inter-packet time `interval` (seconds).
    static double increase(double interval, double syn);

  private:
    void decrease(const LossSample& sample);
    double full_window_packets() const;

    LawSettings settings_;
    double packet_bytes_ = 1440;
    double interval_;     // seconds from one packet to the next
    double history_ = 0;  // loss rate, smoothed
    PacketNumber last_decrease_ = 0;
    bool decreased_ = false;
    unsigned naks_since_ = 0;
    unsigned exponent_ = 4;
    Time frozen_until_{};
    Duration rtt_ = std::chrono::milliseconds(100);
    double start_window_packets_ = 1;
    bool starting_ = true;
};

}  // namespace lambda::sabul
