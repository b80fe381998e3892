// `bic`: binary increase TCP. Source: Xu, Harfoush, Rhee 2004; 2006 paper eq. 7 and 8. The preset
// `linux` has the constants of Linux' tcp_bic.c.
//
// Rule: below the window of the last loss event, M, a round trip adds the way to a B-th of the
// distance, (M - w) / B, at most Smax; beyond it (w - M) / (B - 1), the mirror image, at most Smax.
// With the paper's B = 2 the first is the middle between w and M, the second its slow start 1, 2,
// 4 ... Near M the paper adds at least Smin, Linux B / smooth. A loss event leaves 1 - beta; M
// becomes w, or, where w had not come back to M, the middle between w and what is left (fast
// convergence). Below 14 packets Reno.
//
//             B   Smax   beta    near M
//   paper     2   32     0.125   Smin = 0.01; beyond M at least 1
//   linux     4   16     0.2     4/20 within 1 below and 4 above
#pragma once

#include "common/sabul/congestion/parameters.h"
#include "common/sabul/congestion/window_rule.h"

namespace lambda::sabul {

class Bic final : public WindowRule {
  public:
    // Parameter: preset (paper, linux).
    explicit Bic(Parameters& parameters);

    double grown(const WindowPath& path, double window, double packets) override;
    double reduced(const WindowPath& path, double window) override;
    // Packets that a round trip adds.
    double increase(double window) const;
    double last_window() const { return last_window_; }

  private:
    struct Constants {
        double parts;  // B
        double most;   // Smax, packets a round trip
        double left;   // 1 - beta
        double least_below, least_above;
        double near_below, near_above;  // packets from M within which the least is taken
    };
    static constexpr Constants kPaper{2, 32, 0.875, 0.01, 1, 0, 1};
    static constexpr Constants kLinux{4, 16, 819.0 / 1024, 0.2, 0.2, 1, 4};

    Constants constants_;
    double last_window_ = 0;  // M; 0: no loss yet
};

}  // namespace lambda::sabul
