#include "common/sabul/congestion/htcp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace lambda::sabul {
namespace {

constexpr double kLowSpeed = 1;                                     // ΔL, seconds
constexpr double kLeastLeft = 0.5, kMostLeft = 0.8;                 // β
constexpr double kSteady = 0.2;                                     // draft: throughput's change
constexpr Duration kLeastRtt = std::chrono::milliseconds(10);       // Linux: below, β = 0.5
constexpr Duration kReferenceRtt = std::chrono::milliseconds(100);  // of RTT scaling
constexpr double kFade = 0.95;                                      // Linux, of RTTmax
constexpr std::array<std::string_view, 2> kSwitch{"off", "on"};

}  // namespace

double htcp_increase(double since_loss) {
    if (since_loss <= kLowSpeed) return 1;
    const double d = since_loss - kLowSpeed;
    return 1 + 10 * d + d * d / 4;
}

Htcp::Htcp(Parameters& parameters)
    : rtt_scaling_(parameters.choice("rttscaling", kSwitch, 0) == 1) {}

void Htcp::acknowledged(const WindowPath& path, double packets) {
    if (!started_) {
        started_ = true;
        last_loss_ = path.used;
        round_start_ = path.now;
    }
    longest_rtt_ = std::max(longest_rtt_, path.rtt);
    round_packets_ += packets;
    const Duration elapsed = path.now - round_start_;
    if (elapsed < path.rtt || elapsed.count() == 0) return;
    const double now = round_packets_ / seconds(elapsed);
    throughput_ = throughput_ > 0 ? (3 * throughput_ + now) / 4 : now;  // Linux
    most_ = std::max(most_, throughput_);
    round_packets_ = 0;
    round_start_ = path.now;
}

double Htcp::grown(const WindowPath& path, double window, double packets) {
    double a = htcp_increase(seconds(path.used - last_loss_)) * 2 * (1 - left_);
    if (rtt_scaling_) {
        a *= std::clamp(seconds(path.min_rtt) / seconds(kReferenceRtt), 0.1, 2.0);
    }
    return window + std::max(1.0, a) * packets / window;
}

double Htcp::reduced(const WindowPath& path, double window) {
    const bool steady =
        most_before_ > 0 && std::abs(most_ - most_before_) <= kSteady * most_before_;
    left_ = kLeastLeft;
    if (steady && path.min_rtt - path.syn >= kLeastRtt && longest_rtt_ > Duration{0}) {
        left_ = std::clamp(seconds(path.min_rtt) / seconds(longest_rtt_), kLeastLeft, kMostLeft);
    }
    most_before_ = std::exchange(most_, 0.0);
    longest_rtt_ =
        path.min_rtt + Duration(static_cast<Duration::rep>(
                           kFade * static_cast<double>((longest_rtt_ - path.min_rtt).count())));
    last_loss_ = path.used;
    return left_ * window;
}

}  // namespace lambda::sabul
