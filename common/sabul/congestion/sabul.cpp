#include "common/sabul/congestion/sabul.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

constexpr double kStartGain = 2.0;    // a doubling each round
constexpr double kFlatGrowth = 1.25;  // BBR's: less than a quarter more is a plateau
constexpr int kFlatRounds = 3;        // ... three times in a row
constexpr double kStartLoss = 0.10;   // the overshoot of a doubling into a full queue
constexpr double kNoiseLoss = 0.02;   // BBRv3's: less is no sign of congestion
constexpr double kIncrease = 0.05;    // a round
constexpr double kDecrease = 0.95;    // of what is delivered
constexpr double kAhead = 1.25;       // of what is delivered: how far the rate may run ahead
constexpr Duration kLeastQueue = std::chrono::milliseconds(3);  // above the jitter of hosts
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
        if (starting_) {
            start_round();
            if (flat_rounds_ >= kFlatRounds || queue_stands(sample) || round_loss() > kStartLoss) {
                starting_ = false;
                rate_ = std::max(kDecrease * round_delivered_, kLeastRate);
            }
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

void Sabul::start_round() {
    if (round_delivered_ >= kFlatGrowth * best_delivered_) {
        best_delivered_ = round_delivered_;
        flat_rounds_ = 0;
    } else {
        ++flat_rounds_;
    }
}

void Sabul::cruise(const SynSample& sample) {
    if (queue_stands(sample) || round_loss() > kNoiseLoss) {
        rate_ = std::min(rate_, kDecrease * round_delivered_);
        return;
    }
    const double grown = rate_ * (1 + kIncrease);
    // A rate that is not used may not run away from what is delivered.
    rate_ = std::max(rate_ * (round_limited_ ? 1 : 0), std::min(grown, kAhead * round_delivered_));
}

}  // namespace lambda::sabul
