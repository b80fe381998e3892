// `stcp`: Scalable TCP. Source: Kelly 2003; 2006 paper eq. 5 and 6.
//
// Rule: each acknowledged packet adds a = 0.01; a loss event leaves 0.875; up to 16 packets Reno.
// Mean window 0.0745 / p. The 2006 paper's 0.038 / p is that of a = 0.005, Kelly's a with an
// acknowledgement for every second packet, and its eq. 5, CWND + a CWND, is the growth of a round
// trip, not of an acknowledgement. Linux counts 50 packets for each 1 (a = 0.02).
#pragma once

#include "common/sabul/congestion/parameters.h"
#include "common/sabul/congestion/window_rule.h"

namespace lambda::sabul {

class Stcp final : public WindowRule {
  public:
    static constexpr double kIncrease = 0.01;    // packets for each acknowledged, Kelly 2003
    static constexpr double kDecrease = 0.875;   // what is left
    static constexpr double kLegacyWindow = 16;  // packets

    // Parameter: a, the packets that each acknowledged one adds.
    explicit Stcp(Parameters& parameters)
        : increase_(parameters.number("a", kIncrease, {0.0001, 1})) {}

    double grown(const WindowPath&, double window, double packets) override {
        return window + packets * (window <= kLegacyWindow ? 1 / window : increase_);
    }
    double reduced(const WindowPath&, double window) override {
        return window * (window <= kLegacyWindow ? 0.5 : kDecrease);
    }

  private:
    double increase_;
};

}  // namespace lambda::sabul
