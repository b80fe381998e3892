// `hstcp`: HighSpeed TCP. Source: RFC 3649 §5; 2006 paper eq. 4.
//
// Rule: each acknowledged packet adds a(w) / w, a loss event leaves 1 - b(w), with
//   b(w) = (0.1 - 0.5) (ln w - ln 38) / (ln 83000 - ln 38) + 0.5
//   p(w) = 0.078 / w^1.2
//   a(w) = w² p(w) 2 b(w) / (2 - b(w))
// and a = 1, b = 0.5 (Reno) up to 38 packets. The RFC's table of 73 rows rounds a(w) to whole
// numbers; the formula is continuous. Mean window 0.12 / p^0.835.
#pragma once

#include "common/sabul/congestion/window_rule.h"

namespace lambda::sabul {

class Hstcp final : public WindowRule {
  public:
    // Packets a round trip, and the share that a loss event takes, at this window.
    static double increase(double window);
    static double decrease(double window);

    double grown(const WindowPath& path, double window, double packets) override;
    double reduced(const WindowPath& path, double window) override;
};

}  // namespace lambda::sabul
