#include "common/sabul/congestion/arrivals.h"

#include <algorithm>
#include <cmath>

namespace lambda::sabul {
namespace {

constexpr double kHalfLife = 0.02;  // s, of a delay that was read
constexpr double kLeastFate = 0.4;

}  // namespace

void Arrivals::add(const AckSample& sample, Duration round) {
    if (sample.stripe >= stripes_.size())
        stripes_.resize(sample.stripe + std::size_t{1}, Stripe(base_life_));
    Stripe& stripe = stripes_[sample.stripe];
    stripe.bytes += sample.bytes;
    stripe.heard = sample.now;
    if (sample.passages.empty()) return;
    take_passages(stripe, sample, round);
    take_means(sample.now);
}

void Arrivals::take_passages(Stripe& stripe, const AckSample& sample, Duration round) {
    Duration waiting = Duration::max(), queue = Duration::max(), held{0};
    for (const Passage& passage : sample.passages) {
        const bool largest = &passage == &sample.passages.back();
        const Duration waited =
            stripe.delay.add(sample.now, passage, largest ? sample.latest_rtt : Duration{0});
        held = stripe.standstill.add(sample.now, passage, waited, round);
        waiting = std::min(waiting, waited);
        queue = std::min(queue, waited - held);
    }
    stripe.waiting = seconds(waiting);
    stripe.queue = seconds(queue);
    const Passage& last = sample.passages.back();
    // By time, whatever the SYN: a smoothed delay falls slowly below the target, and who smooths
    // for longer gives way for longer.
    const double since =
        stripe.passages.empty() ? 1 : seconds(last.arrived - stripe.passages.last().arrived);
    stripe.smooth_queue +=
        (stripe.queue - stripe.smooth_queue) * (1 - std::exp2(-std::max(0.0, since) / kHalfLife));
    stripe.passages.add({last.sent, last.arrived, last.arrived - held, stripe.bytes});
}

void Arrivals::take_means(Time now) {
    double heard = 0;
    waiting_ = queue_ = smooth_queue_ = 0;
    for (const Stripe& each : stripes_) {
        if (now - each.heard > 4 * syn_) continue;
        waiting_ += each.waiting;
        queue_ += each.queue;
        smooth_queue_ += each.smooth_queue;
        ++heard;
    }
    waiting_ /= heard;
    queue_ /= heard;
    smooth_queue_ /= heard;
}

void Arrivals::forget_passed() {
    for (Stripe& stripe : stripes_) stripe.passages.clear();
}

void Arrivals::raise_base(double by) {
    for (Stripe& stripe : stripes_) {
        stripe.delay.raise(from_seconds(std::min(stripe.waiting, by)));
        stripe.standstill = Standstill();
        stripe.waiting = stripe.queue = stripe.smooth_queue = 0;
    }
    waiting_ = queue_ = smooth_queue_ = 0;
}

bool Arrivals::base_is_old(Time now) const {
    return std::any_of(stripes_.begin(), stripes_.end(), [&](const Stripe& stripe) {
        return stripe.passages.size() > 1 &&
               now - stripe.delay.base_seen(now) > base_life_ - std::chrono::seconds(1);
    });
}

Arrivals::Span Arrivals::lately(Time now, Duration width, Duration least, Duration round) const {
    Span span{.sent_from = Time::max(), .sent_to = Time::min()};
    double sent = 0, arrived = 0;
    for (const Stripe& stripe : stripes_) {
        const bool fresh = now - stripe.heard <= std::max<Duration>(width, 4 * syn_);
        if (!fresh && !held_up(stripe, now, round)) continue;
        const auto passed = stripe.passages.lately(width, least);
        if (!passed) continue;
        span.delivered += passed->delivered;
        if (!fresh) continue;
        sent += passed->sent;
        arrived += passed->arrived;
        span.sent_from = std::min(span.sent_from, passed->sent_from);
        span.sent_to = std::max(span.sent_to, passed->sent_to);
        span.known = true;
    }
    if (span.known) span.fate = std::clamp(sent / arrived, kLeastFate, kMostFate);
    return span;
}

bool Arrivals::met_standstill(std::uint16_t stripe, Time first_sent, Time last_sent) const {
    return stripe < stripes_.size() && stripes_[stripe].standstill.met(first_sent, last_sent);
}

bool Arrivals::held_up(const Stripe& stripe, Time now, Duration round) const {
    const Duration silent = now - stripe.heard;
    return silent > 4 * syn_ && silent <= 4 * round;
}

Duration Arrivals::held_up(Time now, Duration round) const {
    Duration held{0};
    for (const Stripe& stripe : stripes_) {
        if (held_up(stripe, now, round)) held += now - stripe.heard;
    }
    return held / static_cast<Duration::rep>(std::max<std::size_t>(1, stripes_.size()));
}

}  // namespace lambda::sabul
