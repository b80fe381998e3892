// `htcp-be`: H-TCP with bandwidth estimation. Source: 2006 paper eq. 17 and 18.
//
// Rule: each acknowledged packet adds α(Δ) / w with H-TCP's α; a loss event leaves B RTTmin with
// Westwood+'s bandwidth B, never more than there was and at least 2; timeout as Westwood+. The
// paper leaves the β of H-TCP's factor 2 (1 - β) undefined, since no β is left: by default there
// is no such factor. Option: β = what the last loss event left of the window.
#pragma once

#include "common/sabul/congestion/bandwidth_filter.h"

namespace lambda::sabul {

class HtcpBe final : public WindowRule {
  public:
    // Parameters: filter (cascade, tustin); scaling (off, on): the factor 2 (1 - β), at least 1.
    explicit HtcpBe(Parameters& parameters);

    void acknowledged(const WindowPath& path, double packets) override;
    double grown(const WindowPath& path, double window, double packets) override;
    double reduced(const WindowPath& path, double window) override;

  private:
    BandwidthFilter filter_;
    bool scaling_;
    double left_ = 0.5;  // of the window at the last loss event
    Time last_loss_{};   // or the start
    bool started_ = false;
};

}  // namespace lambda::sabul
