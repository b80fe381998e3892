#include "common/sabul/congestion/sabul2003.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lambda::sabul {
namespace {

constexpr double kLossLimit = 0.001;           // paper §4: 0.1 %
constexpr double kHistoryWeight = 0.1;         // source: weight of the past
constexpr double kDecrease = 1.125;            // both: the gap grows by 1/8
constexpr double kLeastIncrease = 1.0 / 1500;  // source, packets a SYN
constexpr unsigned kFirstExponent = 4;         // source: 16, 32, 64 ... NAKs
constexpr std::array<std::string_view, 2> kFreezes{"rtt", "syn"};

}  // namespace

Sabul2003::Sabul2003(const LawSettings& settings, Parameters& parameters)
    : settings_(settings),
      freeze_round_trip_(parameters.choice("freeze", kFreezes, 0) == 0),
      interval_(packet_bytes_ * 8 / settings.initial.bits_per_second) {}

double Sabul2003::increase(double interval, double syn) {
    return std::max(std::pow(10, std::ceil(std::log10(syn / interval))) / 1000, kLeastIncrease);
}

void Sabul2003::on_syn(const SynSample& sample) {
    // The rate stays when the size of a packet changes.
    interval_ *= sample.packet_bytes / packet_bytes_;
    packet_bytes_ = sample.packet_bytes;
    if (sample.rtt.count() > 0) rtt_ = sample.rtt;
    if (sample.min_rtt.count() > 0) least_rtt_ = sample.min_rtt;
    const double loss = sample.sent_packets == 0
                            ? 0
                            : std::min(1.0, static_cast<double>(sample.lost_packets) /
                                                static_cast<double>(sample.sent_packets));
    history_ = kHistoryWeight * history_ + (1 - kHistoryWeight) * loss;
    // While the law's own window limits, at the start, the rate is none the less tuned.
    const bool unused = sample.limited && !starting_;
    if (history_ > kLossLimit || unused || sample.now < frozen_until_) return;
    const double syn = seconds(settings_.syn);
    const double share = seconds(sample.elapsed) / syn;  // a late tick counts for what it missed
    interval_ = interval_ * syn / (interval_ * increase(interval_, syn) * share + syn);
    if (settings_.highest.bits_per_second > 0) {
        interval_ = std::max(interval_, packet_bytes_ * 8 / settings_.highest.bits_per_second);
    }
}

void Sabul2003::on_ack(const AckSample& sample) {
    acknowledged_ += static_cast<double>(sample.packets);
    if (acknowledged_ >= full_window_packets()) starting_ = false;
}

void Sabul2003::on_loss(const LossSample& sample) {
    starting_ = false;
    if (!decreased_ || sample.lowest > last_decrease_) {
        interval_ *= kDecrease;
        frozen_until_ = sample.now +
                        (freeze_round_trip_ ? sample.rtt : settings_.syn + from_seconds(interval_));
        naks_since_ = 1;
        exponent_ = kFirstExponent;
        last_decrease_ = sample.largest_sent;
        decreased_ = true;
    } else if (++naks_since_ >= 1u << exponent_) {
        // The number of NAKs in one epoch is bounded by the packets in flight: 2^31 is never
        // reached.
        if (exponent_ < 30) ++exponent_;
        interval_ *= kDecrease;
    }
}

BitRate Sabul2003::rate() const {
    return BitRate{packet_bytes_ * 8 / interval_};
}

double Sabul2003::full_window_packets() const {
    const double bandwidth = settings_.highest.bytes_per_second();
    const double packets = bandwidth > 0
                               ? seconds(least_rtt_ + settings_.syn) * bandwidth / packet_bytes_
                               : seconds(rtt_ + settings_.syn) / interval_;
    return std::max(16.0, packets);
}

double Sabul2003::window() const {
    return (starting_ ? std::max(1.0, acknowledged_) : full_window_packets()) * packet_bytes_;
}

}  // namespace lambda::sabul
