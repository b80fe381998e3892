// `cubic`: CUBIC. Source: RFC 9438; 2006 paper eq. 16 (the form of 2005, K = cbrt(Wmax β / C) with
// β = 0.2 then).
//
// Rule: W(t) = C (t - K)³ + Wmax, K = cbrt((Wmax - w0) / C), t in seconds since avoidance began at
// w0. Each acknowledged packet adds (target - w) / w with target = W(t + RTT) within w and 1.5 w.
// Where W(t) is below the window that Reno would have, West, the window is that: West += α / w for
// each, α = 3 (1 - β) / (1 + β) until West passes the window before the loss, 1 from there on. A
// loss event leaves β w; Wmax = w, or w (1 + β) / 2 where w had not come back to Wmax (fast
// convergence). Mean window 1.054 (RTT / p)^0.75 beyond the Reno-friendly region. No HyStart.
#pragma once

#include <optional>

#include "common/sabul/congestion/window_rule.h"

namespace lambda::sabul {

class Cubic final : public WindowRule {
  public:
    static constexpr double kC = 0.4;     // packets/s³, RFC 9438 §5
    static constexpr double kBeta = 0.7;  // what is left, RFC 9438 §4.6

    double grown(const WindowPath& path, double window, double packets) override;
    double reduced(const WindowPath& path, double window) override;
    // Seconds from a window to `top`, and the window `t` seconds after the start of avoidance.
    static double rise_time(double window, double top);
    static double curve(double t, double rise, double top) {
        return kC * (t - rise) * (t - rise) * (t - rise) + top;
    }

  private:
    double top_ = 0;             // Wmax
    double prior_ = 0;           // the window before the last loss event
    std::optional<Time> start_;  // of avoidance
    double rise_ = 0;            // K, seconds
    double estimate_ = 0;        // West
};

}  // namespace lambda::sabul
