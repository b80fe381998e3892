// `mimd`: SABUL's multiplicative rate control, before that of 2003, as the paper of 2004 models it.
// Source: 2004 paper, eq. 1 to 5; RC, "Rate Based Congestion Control over High Bandwidth/Delay
// Links", eq. 4 and 11, for what is "excessive" and how loss is measured. One instance for each
// stripe.
//
// Rule, at the end of a round of T, with δ the gap between packets on the sender's interface of
// rate C (rate = L / (L/C + δ) for packets of L bits) and ρ = lost / sent of the round:
//   (1) ρ > α: δ (1 + k1 (ρ - α)) + c      (3) ρ = α: δ + d
//   (2) ρ < α: δ (1 + k2 (ρ - α))          (4) more than V NAKs in a round: δ + b, at once
// (4) acts once a round at most: the source sets its count to -500 when it has acted.
//
//            T        k1       k2   c µs   d µs  b µs   α      V
//   pr0      200 ms   0.1      10   0.5    0.1   2      0.001  10    2004 paper §IV.B, source
//   pr1      200 ms   0.00101  100  0.002  0.1   0.002  0.001  10    2004 paper §IV.B
//   rc       20 ms    0.125    10   2      0.1   0.5    0.001  10    RC table 2
// The 2004 paper prints no α for its runs and RC prints c and b the other way round than the
// source; both are taken as printed. The rule knows no window: that of the source, 25,600 packets.
// Ours: a rate that was not used does not grow.
#pragma once

#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/parameters.h"

namespace lambda::sabul {

struct MimdParameters {
    Duration round = std::chrono::milliseconds(200);  // T
    double k1 = 0.1;
    double k2 = 10;
    double c_us = 0.5, d_us = 0.1, b_us = 2;
    double alpha = 0.001;
    double most_naks = 10;  // V
    BitRate interface {
        1e9
    };  // C: 1 Gbit/s in all of the papers' runs

    // Parameters: preset, T, k1, k2, c, d, b (microseconds), alpha, V, interface.
    static MimdParameters read(Parameters& parameters);
};

// δ of the next round, microseconds, by (1), (2) or (3). Below 0 where k2 α is above 1.
double next_gap_us(const MimdParameters& parameters, double gap_us, double loss);

class Mimd final : public Law {
  public:
    Mimd(const LawSettings& settings, const MimdParameters& parameters);
    void on_ack(const AckSample&) override {}
    void on_loss(const LossSample& sample) override;
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override;
    double window() const override;

    double gap_us() const { return gap_us_; }

  private:
    void end_round();
    void set_gap(double gap_us);
    double gap_at(BitRate rate) const;

    LawSettings settings_;
    MimdParameters parameters_;
    double packet_bytes_ = 1440;
    double gap_us_;
    // The present round.
    Duration elapsed_{0};
    std::uint64_t sent_ = 0, lost_ = 0;
    double naks_ = 0;
    bool excessive_ = false, limited_ = false;
};

}  // namespace lambda::sabul
