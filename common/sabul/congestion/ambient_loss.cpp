#include "common/sabul/congestion/ambient_loss.h"

#include <algorithm>

#include "common/sabul/congestion/signals/loss_window.h"
#include "common/sabul/congestion/target_delay.h"

namespace lambda::sabul {
namespace {

// More is not the path's, unless it stays what it is with so much less than when it was met.
constexpr double kCap = 0.06;
constexpr double kMost = 0.2;
constexpr double kMuchLess = 0.5, kVeryMuchLess = 0.125;
constexpr double kMemory = 0.8;
constexpr double kLeastDip = 0.03;
constexpr double kSomeLoss = 0.01;  // that calls for a dip before its time

}  // namespace

AmbientLoss::AmbientLoss(Duration syn, std::uint64_t seed)
    : syn_(syn), random_(static_cast<std::minstd_rand::result_type>(seed + 1)), most_(kCap) {}

void AmbientLoss::meet(double share) {
    ambient_ = known_packets_ == 0 ? share : std::min(ambient_, share);
    known_packets_ = LossWindow::kTelling;
}

void AmbientLoss::end_start(Time now, Duration round, double depth) {
    ambient_ = std::min(ambient_, kCap);
    known_packets_ = LossWindow::kTelling;
    known_lost_ = ambient_ * known_packets_;
    started_ = from_ = now;
    to_ = now + round;
    depth_ = depth;
    lost_ = received_ = 0;
    next_ = to_ + 2 * round;
}

void AmbientLoss::add_received(Time sent, double packets) {
    if (is_dip(sent)) received_ += packets;
}

void AmbientLoss::add_lost(Time sent, double packets) {
    if (is_dip(sent)) lost_ += packets;
}

void AmbientLoss::step(const Sight& sight) {
    // What left at its end was told to be lost an interval after what arrived.
    const Time told = to_ + 2 * sight.round;
    if (to_ != Time{} && judged_ != to_ && sight.now > told) {
        judged_ = to_;
        if (received_ + lost_ > 0) {
            known_lost_ = kMemory * known_lost_ + lost_;
            known_packets_ = kMemory * known_packets_ + lost_ + received_;
            judge(sight);
        }
    }
    const bool due =
        sight.now >= next_ || (sight.excess > kSomeLoss && sight.now >= to_ + 6 * sight.round);
    if (!due || sight.now < told || sight.drained) return;
    depth_ = std::min(0.5, std::max(kLeastDip, sight.recent + 0.02));
    from_ = sight.now;
    to_ = sight.now + std::max(sight.rtt, 2 * syn_) + syn_;
    lost_ = received_ = 0;
    const double draw = 0.5 + static_cast<double>(random_()) / static_cast<double>(random_.max());
    next_ = sight.now + from_seconds(draw * std::max(1.0, 12 * seconds(sight.rtt)));
}

// Where all who share a short queue lose what they send too much, each would take that for the
// path's, and none would send less. What dips tell lags behind where the rate falls: few packets
// leave in those of a low rate, and many of before are remembered.
void AmbientLoss::judge(const Sight& sight) {
    double measured = known_lost_ / known_packets_;
    if (std::max(measured, sight.recent) <= most_) {
        most_ = std::max(kCap, std::min(most_, 1.25 * measured));
        beyond_rate_ = 0;
    } else if (sight.rate >= beyond_rate_) {
        beyond_rate_ = sight.rate;
    } else if (is_path_loss(sight)) {
        measured = sight.recent;
        known_lost_ = measured * known_packets_;
        most_ = std::min(1.25 * measured, kMost);
    }
    ambient_ = std::min(measured, most_);
}

// It stayed when we left the path to others. These hold a queue of their own there, which is none
// to a flow of a much lower rate.
bool AmbientLoss::is_path_loss(const Sight& sight) const {
    if (sight.rate < kVeryMuchLess * beyond_rate_)
        return sight.queue < target_delay(sight.rate) / 2;
    return sight.rate < kMuchLess * beyond_rate_ && sight.queue < target_delay(beyond_rate_) / 2;
}

}  // namespace lambda::sabul
