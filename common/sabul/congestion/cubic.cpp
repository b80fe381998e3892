#include "common/sabul/congestion/cubic.h"

#include <algorithm>
#include <cmath>

namespace lambda::sabul {
namespace {

constexpr double kFriendly = 3 * (1 - Cubic::kBeta) / (1 + Cubic::kBeta);  // α, RFC 9438 §4.3
constexpr double kFastest = 1.5;  // of the window, in a round trip, RFC 9438 §4.2

}  // namespace

double Cubic::rise_time(double window, double top) {
    return std::cbrt(std::max(0.0, top - window) / kC);
}

double Cubic::grown(const WindowPath& path, double window, double packets) {
    if (!start_) {
        start_ = path.used;
        top_ = std::max(top_, window);
        rise_ = rise_time(window, top_);
        estimate_ = window;
    }
    const double t = seconds(path.used - *start_);
    estimate_ += (estimate_ < prior_ ? kFriendly : 1) * packets / window;
    if (curve(t, rise_, top_) < estimate_) return estimate_;
    const double target =
        std::clamp(curve(t + seconds(path.rtt), rise_, top_), window, kFastest * window);
    return window + (target - window) * std::min(1.0, packets / window);
}

double Cubic::reduced(const WindowPath&, double window) {
    prior_ = window;
    top_ = window < top_ ? window * (1 + kBeta) / 2 : window;
    start_.reset();
    return kBeta * window;
}

}  // namespace lambda::sabul
