#include "common/sabul/congestion/sabul2000.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

constexpr double kCheckPackets = 500;                              // paper §4
constexpr double kTarget = 0.01;                                   // paper §4: loss
constexpr double kStep = 1e6, kGoodStep = 3e6;                     // source, bit/s
constexpr double kMost = 700e6, kMostGood = 1000e6, kLeast = 1e6;  // source, bit/s
constexpr int kGoodChecks = 3;                                     // source

}  // namespace

Sabul2000::Sabul2000(const LawSettings& settings, Parameters& parameters)
    : settings_(settings),
      check_packets_(parameters.number("check", kCheckPackets, {10, 1e6})),
      rate_(settings.initial),
      window_(2 * rate_.bytes_per_second()) {}

void Sabul2000::on_ack(const AckSample& sample) {
    window_arrived_ += static_cast<double>(sample.packets);
}

void Sabul2000::on_syn(const SynSample& sample) {
    sent_ += static_cast<double>(sample.sent_packets);
    window_lost_ += static_cast<double>(sample.lost_packets);
    limited_ = limited_ || sample.limited;
    if (sent_ >= check_packets_) {
        sent_ = 0;
        if (window_arrived_ + window_lost_ > 0) check();
    }
    const double round = seconds(sample.rtt + settings_.syn);
    window_ = std::max(2 * rate_.bytes_per_second() * round, 64 * sample.packet_bytes);
}

void Sabul2000::check() {
    arrived_ += window_arrived_;
    lost_ += window_lost_;
    double& rate = rate_.bits_per_second;
    const bool good = window_lost_ < kTarget * (window_arrived_ + window_lost_);
    good_checks_ = good ? good_checks_ + 1 : 0;
    if (lost_ > arrived_ / 2) {
        rate /= 2;
    } else if (lost_ > kTarget * arrived_) {
        rate -= kStep;
    } else if (!limited_ && rate < kMost) {
        rate = std::min(rate + kStep, kMost);
    }
    if (good_checks_ > kGoodChecks && !limited_ && rate < kMostGood) {
        rate = std::min(rate + kGoodStep, kMostGood);
    }
    rate = std::max(rate, kLeast);
    if (settings_.highest.bits_per_second > 0) rate_ = std::min(rate_, settings_.highest);
    window_arrived_ = window_lost_ = 0;
    limited_ = false;
}

}  // namespace lambda::sabul
