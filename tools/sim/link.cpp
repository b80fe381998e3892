#include "tools/sim/link.h"

#include <algorithm>

namespace lambda::simulation {

std::optional<Time> Link::admit(Time now, double bytes) {
    integrate(now);
    const double waiting = backlog(now);
    if (waiting > queue_bytes_) {
        ++counters_.dropped;
        return std::nullopt;
    }
    ++counters_.packets;
    counters_.bytes += bytes;
    counters_.queue_max = std::max(counters_.queue_max, waiting + bytes);
    free_at_ = std::max(free_at_, now) + rate_.time_for(bytes);
    last_departure_ = std::max(last_departure_, free_at_);
    return last_departure_;
}

void Link::set_rate(Time now, BitRate rate) {
    integrate(now);
    const double waiting = backlog(now);
    rate_ = rate;
    free_at_ = now + rate_.time_for(waiting);
}

void Link::integrate(Time now) {
    for (; next_sample_ <= now; next_sample_ += kSample) {
        samples_.push_back(static_cast<float>(backlog(next_sample_)));
    }
    const double began = backlog(integrated_to_), ends = backlog(now);
    const double time = ends > 0 ? seconds(now - integrated_to_)
                                 : std::max(0.0, seconds(free_at_ - integrated_to_));
    area_ += (began + ends) / 2 * std::min(time, seconds(now - integrated_to_));
    integrated_to_ = now;
}

void Link::reset(Time now) {
    counters_ = Counters{};
    area_ = 0;
    samples_.clear();
    since_ = integrated_to_ = next_sample_ = now;
}

Link::Counters Link::counters(Time now) {
    integrate(now);
    Counters told = counters_;
    told.queue_mean = now > since_ ? area_ / seconds(now - since_) : 0;
    if (!samples_.empty()) {
        auto tenth = samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() / 10);
        std::nth_element(samples_.begin(), tenth, samples_.end());
        told.queue_p10 = *tenth;
    }
    return told;
}

}  // namespace lambda::simulation
