// `sabul2003`: the rate control of SABUL 2.1, as its source coded it where the paper of 2003 and
// the source differ. One instance for each stripe.
//
// Rule, once a SYN: history = 0.1 history + 0.9 loss; where history is not above 0.1 %, the
// inter-packet time t becomes t SYN / (t inc + SYN) with inc = max(10^ceil(log10(SYN / t)) / 1000,
// 1/1500) packets a SYN. On a NAK: where its lowest number is above the largest sent at the last
// decrease, t grows by 1/8 and sending freezes for a round trip; else every 2^k-th NAK (k = 4, 5,
// ...) since then grows t by 1/8.
//
// Paper against source: the paper's formula for inc, Sr SYN β / (MTU 8) with β = 1.2e-5, is 100
// times too small against its own table, and its prose rounds down where formula and table round
// up; taken: the source, which agrees with the table. Freeze: as printed a round trip, in the
// source a SYN and a gap (parameter `freeze`). Window, as printed: 1 packet, then as many as were
// acknowledged in all, until the first NAK or the bound, which holds from then on: bandwidth (RTT +
// SYN) with the least RTT where the application names the bandwidth (settings.highest), as the
// paper advises, else rate (RTT + SYN) (source: the receiver's 25,600 flags). A loss counts once
// (source: each repeated report again), the SYN is the sender's own clock and a late one adds what
// it missed (source: the receiver's, over TCP). Ours: a rate that was not used, by credit or
// source, does not grow.
#pragma once

#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/parameters.h"

namespace lambda::sabul {

class Sabul2003 final : public Law {
  public:
    // Parameter: freeze (rtt, syn).
    Sabul2003(const LawSettings& settings, Parameters& parameters);
    void on_ack(const AckSample& sample) override;
    void on_loss(const LossSample& sample) override;
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override;
    double window() const override;
    Time frozen_until() const override { return frozen_until_; }

    // Packets a SYN that the rule adds at inter-packet time `interval` (seconds).
    static double increase(double interval, double syn);

  private:
    double full_window_packets() const;

    LawSettings settings_;
    bool freeze_round_trip_;
    double packet_bytes_ = 1440;
    double interval_;     // seconds from one packet to the next
    double history_ = 0;  // loss rate, smoothed
    PacketNumber last_decrease_ = 0;
    bool decreased_ = false;
    unsigned naks_since_ = 0;
    unsigned exponent_ = 4;
    Time frozen_until_{};
    Duration rtt_ = std::chrono::milliseconds(100), least_rtt_ = rtt_;
    double acknowledged_ = 0;  // packets, in all
    bool starting_ = true;
};

}  // namespace lambda::sabul
