#include "common/sabul/congestion/bbr.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

constexpr double kHighGain = 2.885;
constexpr double kFlightGain = 2;
constexpr double kFullGrowth = 1.25;
constexpr int kFullRounds = 3;
constexpr std::array kPhases{1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
constexpr Duration kLeastLife = std::chrono::seconds(10);
constexpr Duration kProbeRtt = std::chrono::milliseconds(200);
constexpr double kLeastFlight = 4;  // packets

}  // namespace

Bbr::Bbr(const LawSettings& settings)
    : settings_(settings), random_(static_cast<std::minstd_rand::result_type>(settings.seed + 1)) {}

void Bbr::skip_startup() {
    mode_ = Mode::probe_bw;
    most_[0] = settings_.initial.bytes_per_second();
}

double Bbr::bandwidth() const {
    const double most = *std::max_element(most_.begin(), most_.end());
    return most > 0 ? most : settings_.initial.bytes_per_second();
}

double Bbr::gain() const {
    switch (mode_) {
        case Mode::startup:
            return kHighGain;
        case Mode::drain:
            return 1 / kHighGain;
        case Mode::probe_bw:
            return kPhases[phase_];
        case Mode::probe_rtt:
            break;
    }
    return 1;
}

BitRate Bbr::rate() const {
    double rate = gain() * bandwidth();
    if (settings_.highest.bits_per_second > 0)
        rate = std::min(rate, settings_.highest.bytes_per_second());
    return BitRate::from_bytes_per_second(rate);
}

double Bbr::window() const {
    const double least = kLeastFlight * packet_bytes_;
    if (mode_ == Mode::probe_rtt) return least;
    if (least_rtt_.count() == 0) return bandwidth();  // a second's worth
    const double path = bandwidth() * seconds(least_rtt_);
    const double held = bandwidth() * seconds(settings_.syn);
    return std::max((mode_ == Mode::startup ? kHighGain : kFlightGain) * path + held, least);
}

void Bbr::on_ack(const AckSample& sample) {
    if (sample.passages.empty()) return;
    rtt_ = sample.rtt;
    if (least_rtt_.count() == 0) {
        least_rtt_ = sample.min_rtt;
        least_seen_ = sample.now;
    }
    if (sample.latest_rtt.count() > 0 && sample.latest_rtt <= least_rtt_) {
        least_rtt_ = sample.latest_rtt;
        least_seen_ = sample.now;
    }
    measure(sample);
    if (sample.now >= round_end_) end_round(sample.now);
    advance(sample.now, sample.latest_rtt);
}

void Bbr::measure(const AckSample& sample) {
    if (sample.stripe >= stripes_.size()) stripes_.resize(sample.stripe + std::size_t{1});
    Stripe& stripe = stripes_[sample.stripe];
    stripe.bytes += sample.bytes;
    stripe.heard = sample.now;
    const Passage& last = sample.passages.back();
    stripe.passages.add({last.sent, last.arrived, last.arrived, stripe.bytes});
    const Duration width = std::max(rtt_, 2 * settings_.syn);
    double delivered = 0;
    for (const Stripe& each : stripes_) {
        if (sample.now - each.heard > std::max(width, 4 * settings_.syn)) continue;
        if (const auto span = each.passages.lately(width, settings_.syn))
            delivered += std::min(span->delivered, span->delivered * span->arrived /
                                                       std::max(span->sent, span->arrived));
    }
    const bool limited = limited_at_ != Time{} && limited_at_ + width > sample.now;
    if (!limited || delivered > bandwidth())
        most_[round_ % kRounds] = std::max(most_[round_ % kRounds], delivered);
}

void Bbr::end_round(Time now) {
    round_end_ = now + rtt_;
    if (mode_ == Mode::startup) {
        const double reached = *std::max_element(most_.begin(), most_.end());
        if (reached >= kFullGrowth * full_) {
            full_ = reached;
            flat_rounds_ = 0;
        } else if (++flat_rounds_ >= kFullRounds) {
            mode_ = Mode::drain;
            drain_end_ = now + rtt_;
        }
    }
    // What a round trip of few packets delivers says nothing.
    if (mode_ != Mode::probe_rtt) most_[++round_ % kRounds] = 0;
}

void Bbr::advance(Time now, Duration latest) {
    // A round of it, and what startup had under way is gone, whatever queue others keep.
    const bool empty = latest.count() > 0 && latest < least_rtt_ + least_rtt_ / 8;
    if (mode_ == Mode::drain && (empty || now >= drain_end_)) enter_probe_bw(now);
    if (mode_ == Mode::probe_bw && now >= phase_end_) {
        phase_ = (phase_ + 1) % kPhases.size();
        phase_end_ = now + least_rtt_;
    }
    if (mode_ == Mode::probe_rtt) {
        if (now < probe_end_) return;
        least_seen_ = now;
        enter_probe_bw(now);
    } else if (now - least_seen_ > kLeastLife) {
        mode_ = Mode::probe_rtt;
        probe_end_ = now + rtt_ + std::max(kProbeRtt, rtt_);
        least_rtt_ = latest.count() > 0 ? latest : rtt_;
    }
}

// Not in the phase of 3/4: there is no queue of ours to drain.
void Bbr::enter_probe_bw(Time now) {
    mode_ = Mode::probe_bw;
    phase_ = std::uniform_int_distribution<std::size_t>(0, kPhases.size() - 2)(random_);
    if (phase_ == 1) phase_ = kPhases.size() - 1;
    phase_end_ = now + least_rtt_;
}

void Bbr::on_syn(const SynSample& sample) {
    packet_bytes_ = sample.packet_bytes;
    if (sample.limited) limited_at_ = sample.now;
}

}  // namespace lambda::sabul
