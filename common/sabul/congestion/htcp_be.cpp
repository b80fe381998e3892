#include "common/sabul/congestion/htcp_be.h"

#include <algorithm>
#include <array>

#include "common/sabul/congestion/htcp.h"

namespace lambda::sabul {
namespace {

constexpr std::array<std::string_view, 2> kSwitch{"off", "on"};

}  // namespace

HtcpBe::HtcpBe(Parameters& parameters)
    : filter_(parameters), scaling_(parameters.choice("scaling", kSwitch, 0) == 1) {}

void HtcpBe::acknowledged(const WindowPath& path, double packets) {
    if (!started_) {
        started_ = true;
        last_loss_ = path.used;
    }
    filter_.acknowledged(path, packets);
}

double HtcpBe::grown(const WindowPath& path, double window, double packets) {
    double a = htcp_increase(seconds(path.used - last_loss_));
    if (scaling_) a = std::max(1.0, a * 2 * (1 - left_));
    return window + a * packets / window;
}

double HtcpBe::reduced(const WindowPath& path, double window) {
    const double after = std::min(window, filter_.window(path));
    left_ = after / window;
    last_loss_ = path.used;
    return after;
}

}  // namespace lambda::sabul
