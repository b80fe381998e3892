// The bandwidth estimate of Westwood+: one sample a round trip, smoothed. Source: Mascolo et al.
// 2004; the cascade is Linux' tcp_westwood.c, the bilinear (Tustin) filter ns-3's TcpWestwood.
//
// Sample: what was acknowledged over what it took, at least a round trip and 50 ms (Linux).
// cascade: n = (7 n + b) / 8, B = (7 B + n) / 8, the first sample initialises both.
// tustin:  B = 0.9 B + 0.05 (b + b before); from zero it is biased low for some 40 round trips, so
// ours too begins with the first sample.
#pragma once

#include "common/sabul/congestion/parameters.h"
#include "common/sabul/congestion/window_rule.h"

namespace lambda::sabul {

class BandwidthFilter {
  public:
    enum class Kind { cascade, tustin };

    explicit BandwidthFilter(Kind kind) : kind_(kind) {}
    // Parameter: filter (cascade, tustin).
    explicit BandwidthFilter(Parameters& parameters);

    void acknowledged(const WindowPath& path, double packets);
    void add(double sample);  // packets a second

    double bandwidth() const { return bandwidth_; }  // packets a second; 0: no sample yet
    // Packets that this bandwidth has under way on an empty path.
    double window(const WindowPath& path) const { return bandwidth_ * seconds(path.min_rtt); }

  private:
    Kind kind_;
    bool any_ = false;
    double bandwidth_ = 0;
    double inner_ = 0;  // cascade: n; tustin: the sample before
    Time start_{};
    bool started_ = false;
    double packets_ = 0;
};

}  // namespace lambda::sabul
