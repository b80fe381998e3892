// What sets one window law apart from the next: how the window grows in congestion avoidance and
// what a loss leaves of it. The frame around it is WindowLaw. Windows are in packets. Pure.
#pragma once

#include "common/base/time.h"

namespace lambda::sabul {

// What the frame tells a rule of the path. Feedback comes once a SYN, so a window turns over once
// in a round trip and a SYN: both times have the SYN in them.
struct WindowPath {
    Time now{};
    Time used{};  // stands still while the window is not used (RFC 9438 §5.8): for its growth
    Duration rtt{0};
    Duration min_rtt{0};  // the least since the start or the last timeout
    Duration syn{0};      // that is in both
};

class WindowRule {
  public:
    virtual ~WindowRule() = default;
    // Every acknowledgement, for a rule that measures.
    virtual void acknowledged(const WindowPath&, double /*packets*/) {}
    // The window after `packets` more were acknowledged in congestion avoidance.
    virtual double grown(const WindowPath& path, double window, double packets) = 0;
    // The slow-start threshold after a loss event at this window; the frame holds it at 2 or more,
    // and the window at or below it.
    virtual double reduced(const WindowPath& path, double window) = 0;
};

}  // namespace lambda::sabul
