#include "common/sabul/congestion/sabul.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

constexpr double kStartGain = 2.0;    // a doubling each round
constexpr double kFlatGrowth = 1.25;  // BBR's: less than a quarter more is a plateau
constexpr int kFlatRounds = 3;        // ... three times in a row
constexpr double kStartLoss = 0.10;   // the overshoot of a doubling into a full queue
constexpr double kNoiseLoss = 0.02;   // BBRv3's: less is no sign of congestion
constexpr double kIncrease = 1.05;    // a round
constexpr double kDrain = 0.90;       // of the best delivery: empties a queue of a round in ten
constexpr double kSurplus = 1.03;     // delivered over sent, while a queue of ours drains
constexpr double kAfterLoss = 0.95;   // of what the round delivered ...
constexpr double kLossFloor = 0.80;   // ... but not below this of the best: a bad round is no trend
constexpr double kAhead = 1.25;       // of the best delivery: how far the rate may run ahead
constexpr double kFade = 0.99;        // a round: an unused rate is not trusted for ever
constexpr Duration kLeastQueue = std::chrono::milliseconds(5);  // above the jitter of busy hosts
constexpr double kLeastRate = 20 * 1440;                        // file bytes a second

}  // namespace

Sabul::Sabul(const LawSettings& settings)
    : settings_(settings),
      rate_(settings.initial.bytes_per_second()),
      window_(rate_ * 1.0) {}  // one second's worth until the round trip is known

bool Sabul::queue_stands(const SynSample& sample) const {
    return round_queue_ != Duration::max() &&
           round_queue_ > std::max(kLeastQueue, sample.min_rtt / 4);
}

double Sabul::round_loss() const {
    return round_sent_ < 50 ? 0
                            : static_cast<double>(round_lost_) / static_cast<double>(round_sent_);
}

void Sabul::on_syn(const SynSample& sample) {
    round_elapsed_ += sample.elapsed;
    round_sent_ += sample.sent_packets;
    round_lost_ += sample.lost_packets;
    round_delivered_ = std::max(round_delivered_, sample.delivered);
    if (sample.delivered > 0) round_queue_ = std::min(round_queue_, sample.queue_delay);
    round_limited_ = round_limited_ || sample.limited;
    if (starting_) rate_ = std::max(rate_, kStartGain * sample.delivered);
    if (round_elapsed_ >= sample.rtt + settings_.syn) end_round(sample);
    if (settings_.highest.bits_per_second > 0) {
        rate_ = std::min(rate_, settings_.highest.bytes_per_second());
    }
    rate_ = std::max(rate_, kLeastRate);
    window_ =
        std::max(kAhead * rate_ * seconds(sample.rtt + settings_.syn), 16 * sample.packet_bytes);
}

void Sabul::end_round(const SynSample& sample) {
    if (round_delivered_ > 0) {
        // What came of a rate that was not used says nothing of the path, unless it is a record.
        if (!round_limited_ || round_delivered_ >= best_delivery()) {
            deliveries_[next_delivery_++ % deliveries_.size()] = round_delivered_;
        }
        if (starting_) {
            start(sample);
        } else {
            cruise(sample);
        }
    }
    round_elapsed_ = Duration{0};
    round_sent_ = round_lost_ = 0;
    round_delivered_ = 0;
    round_queue_ = Duration::max();
    round_limited_ = false;
}

double Sabul::best_delivery() const {
    return *std::max_element(deliveries_.begin(), deliveries_.end());
}

void Sabul::start(const SynSample& sample) {
    const bool growing = round_delivered_ >= kFlatGrowth * best_delivered_;
    if (growing) best_delivered_ = round_delivered_;
    flat_rounds_ = growing ? 0 : flat_rounds_ + 1;
    const bool full = !growing && (queue_stands(sample) || round_loss() > kStartLoss);
    if (flat_rounds_ < kFlatRounds && !full) return;
    starting_ = false;
    rate_ = kDrain * best_delivery();
}

// Whether a queue stands that is ours. Below the best delivery a queue of ours drains, and delivers
// more than is sent; where it does not, the delay is that of a busy host or of somebody else, and
// giving way to it would end at nothing.
bool Sabul::feeds_queue(const SynSample& sample, double best) {
    if (foreign_rounds_ > 0) {
        --foreign_rounds_;
        return false;
    }
    if (!queue_stands(sample)) return false;
    const bool drains = rate_ <= (kDrain + 0.02) * best;
    if (drains && round_delivered_ < kSurplus * rate_) {
        foreign_rounds_ = static_cast<int>(deliveries_.size());
        return false;
    }
    return true;
}

void Sabul::cruise(const SynSample& sample) {
    const double best = best_delivery();
    if (round_limited_) {
        rate_ = std::min(rate_, std::max(kFade * rate_, kAhead * best));
    } else if (round_loss() > kNoiseLoss) {
        rate_ = std::min(rate_, std::max(kAfterLoss * round_delivered_, kLossFloor * best));
    } else if (feeds_queue(sample, best)) {
        rate_ = std::min(rate_, kDrain * best);
    } else {
        rate_ = std::min(rate_ * kIncrease, kAhead * best);
    }
}

}  // namespace lambda::sabul
