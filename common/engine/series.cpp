#include "common/engine/series.h"

#include <algorithm>

#include "common/base/assert.h"

namespace lambda::engine {

void Series::add(Time now, std::span<const std::uint64_t> totals) {
    LAMBDA_ASSERT(totals.size() == stripes_ && interval_ > Duration{0});
    if (times_.size() == kMostPoints) halve();
    times_.push_back(now);
    totals_.insert(totals_.end(), totals.begin(), totals.end());
    next_ = now + interval_;
}

void Series::halve() {
    interval_ *= 2;
    const std::size_t kept = (times_.size() + 1) / 2;
    for (std::size_t i = 1; i < kept; ++i) {
        times_[i] = times_[2 * i];
        std::copy_n(&totals_[2 * i * stripes_], stripes_, &totals_[i * stripes_]);
    }
    times_.resize(kept);
    totals_.resize(kept * stripes_);
}

}  // namespace lambda::engine
