// `reno`: standard TCP. Source: RFC 5681 §3.1; 2006 paper eq. 1 and 2 (whose "α" in eq. 2 is β).
//
// Rule: each acknowledged packet adds 1/w; a loss event halves w. Mean window sqrt(3/2) / sqrt(p)
// = 1.2247 / sqrt(p).
#pragma once

#include "common/sabul/congestion/window_rule.h"

namespace lambda::sabul {

class Reno final : public WindowRule {
  public:
    static constexpr double kIncrease = 1;    // packets a round trip
    static constexpr double kDecrease = 0.5;  // what is left

    double grown(const WindowPath&, double window, double packets) override {
        return window + kIncrease * packets / window;
    }
    double reduced(const WindowPath&, double window) override { return kDecrease * window; }
};

}  // namespace lambda::sabul
