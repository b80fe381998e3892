// `westwood`: TCP Westwood+. Source: Mascolo et al. 2004; 2006 paper eq. 9 to 11; Linux'
// tcp_westwood.c for the filter.
//
// Rule: each acknowledged packet adds 1/w, as Reno. A loss event sets the threshold to B RTTmin,
// at least 2, B being the filtered bandwidth in packets a second (BandwidthFilter), and the window
// falls to it if it is above. A timeout sets the same threshold, and the window to 1.
#pragma once

#include "common/sabul/congestion/bandwidth_filter.h"

namespace lambda::sabul {

class Westwood final : public WindowRule {
  public:
    explicit Westwood(Parameters& parameters) : filter_(parameters) {}

    void acknowledged(const WindowPath& path, double packets) override {
        filter_.acknowledged(path, packets);
    }
    double grown(const WindowPath&, double window, double packets) override {
        return window + packets / window;
    }
    double reduced(const WindowPath& path, double) override { return filter_.window(path); }

  private:
    BandwidthFilter filter_;
};

}  // namespace lambda::sabul
