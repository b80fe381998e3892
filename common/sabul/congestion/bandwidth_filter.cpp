#include "common/sabul/congestion/bandwidth_filter.h"

#include <algorithm>
#include <array>

namespace lambda::sabul {
namespace {

constexpr Duration kLeastStretch = std::chrono::milliseconds(50);
constexpr std::array<std::string_view, 2> kFilters{"cascade", "tustin"};

}  // namespace

BandwidthFilter::BandwidthFilter(Parameters& parameters)
    : BandwidthFilter(static_cast<Kind>(parameters.choice("filter", kFilters, 0))) {}

void BandwidthFilter::acknowledged(const WindowPath& path, double packets) {
    if (!started_) {
        // What came before the first acknowledgement has no beginning.
        started_ = true;
        start_ = path.now;
        return;
    }
    packets_ += packets;
    const Duration elapsed = path.now - start_;
    if (elapsed < std::max(path.rtt, kLeastStretch)) return;
    add(packets_ / seconds(elapsed));
    packets_ = 0;
    start_ = path.now;
}

void BandwidthFilter::add(double sample) {
    if (!any_) {
        any_ = true;
        bandwidth_ = inner_ = sample;
    } else if (kind_ == Kind::cascade) {
        inner_ = (7 * inner_ + sample) / 8;
        bandwidth_ = (7 * bandwidth_ + inner_) / 8;
    } else {
        bandwidth_ = 0.9 * bandwidth_ + 0.05 * (sample + inner_);
        inner_ = sample;
    }
}

}  // namespace lambda::sabul
