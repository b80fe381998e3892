#include "common/sabul/congestion/bic.h"

#include <algorithm>
#include <array>

namespace lambda::sabul {
namespace {

constexpr double kLowWindow = 14;  // packets: Reno up to here
constexpr std::array<std::string_view, 2> kPresets{"paper", "linux"};

}  // namespace

Bic::Bic(Parameters& parameters)
    : constants_(parameters.choice("preset", kPresets, 0) == 0 ? kPaper : kLinux) {}

double Bic::increase(double window) const {
    const Constants& k = constants_;
    if (window < last_window_) {
        const double step = (last_window_ - window) / k.parts;
        return step <= k.near_below ? k.least_below : std::clamp(step, k.least_below, k.most);
    }
    const double beyond = window - last_window_;
    if (beyond < k.near_above) return k.least_above;
    return std::clamp(beyond / (k.parts - 1), k.least_above, k.most);
}

double Bic::grown(const WindowPath&, double window, double packets) {
    return window + (window <= kLowWindow ? 1 : increase(window)) * packets / window;
}

double Bic::reduced(const WindowPath&, double window) {
    const double left = (window <= kLowWindow ? 0.5 : constants_.left) * window;
    last_window_ = window < last_window_ ? (window + constants_.left * window) / 2 : window;
    return left;
}

}  // namespace lambda::sabul
