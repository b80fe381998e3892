#include "common/sabul/congestion/hstcp.h"

#include <algorithm>
#include <cmath>

namespace lambda::sabul {
namespace {

// RFC 3649 §5, windows in packets.
constexpr double kLowWindow = 38;
constexpr double kHighWindow = 83000;
constexpr double kLowDecrease = 0.5;
constexpr double kHighDecrease = 0.1;

}  // namespace

double Hstcp::decrease(double window) {
    if (window <= kLowWindow) return kLowDecrease;
    const double way = std::log(window / kLowWindow) / std::log(kHighWindow / kLowWindow);
    return std::max(kHighDecrease, kLowDecrease + (kHighDecrease - kLowDecrease) * way);
}

double Hstcp::increase(double window) {
    if (window <= kLowWindow) return 1;
    const double b = decrease(window);
    // The rounded p(w) would give 0.95 just above 38.
    return std::max(1.0, window * window * 0.078 / std::pow(window, 1.2) * 2 * b / (2 - b));
}

double Hstcp::grown(const WindowPath&, double window, double packets) {
    return window + increase(window) * packets / window;
}

double Hstcp::reduced(const WindowPath&, double window) {
    return (1 - decrease(window)) * window;
}

}  // namespace lambda::sabul
