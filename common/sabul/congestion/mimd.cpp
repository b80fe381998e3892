#include "common/sabul/congestion/mimd.h"

#include <algorithm>
#include <array>

namespace lambda::sabul {
namespace {

using std::chrono::milliseconds;

constexpr double kWindowPackets = 25600;  // SABUL 2.1: the receiver's flags
constexpr std::array<std::string_view, 3> kPresetNames{"pr0", "pr1", "rc"};
constexpr std::array<MimdParameters, 3> kPresets{
    MimdParameters{},
    MimdParameters{.k1 = 0.00101, .k2 = 100, .c_us = 0.002, .d_us = 0.1, .b_us = 0.002},
    MimdParameters{.round = milliseconds(20), .k1 = 0.125, .c_us = 2, .d_us = 0.1, .b_us = 0.5}};

}  // namespace

MimdParameters MimdParameters::read(Parameters& parameters) {
    MimdParameters p = kPresets[parameters.choice("preset", kPresetNames, 0)];
    p.round = parameters.duration("T", p.round, milliseconds(1), std::chrono::seconds(100));
    p.k1 = parameters.number("k1", p.k1, {0, 1000});
    p.k2 = parameters.number("k2", p.k2, {0, 1e6});
    p.c_us = parameters.number("c", p.c_us, {0, 1e6});
    p.d_us = parameters.number("d", p.d_us, {0, 1e6});
    p.b_us = parameters.number("b", p.b_us, {0, 1e6});
    p.alpha = parameters.number("alpha", p.alpha, {0, 1});
    p.most_naks = parameters.number("V", p.most_naks, {0, 1e9});
    p.interface = parameters.rate("interface", p.interface, BitRate{1e6}, BitRate{1e12});
    return p;
}

double next_gap_us(const MimdParameters& p, double gap_us, double loss) {
    if (loss > p.alpha) return gap_us * (1 + p.k1 * (loss - p.alpha)) + p.c_us;
    if (loss < p.alpha) return gap_us * (1 + p.k2 * (loss - p.alpha));
    return gap_us + p.d_us;
}

Mimd::Mimd(const LawSettings& settings, const MimdParameters& parameters)
    : settings_(settings), parameters_(parameters), gap_us_(gap_at(settings.initial)) {}

double Mimd::gap_at(BitRate rate) const {
    const double bits = packet_bytes_ * 8;
    return std::max(
        0.0, (bits / rate.bits_per_second - bits / parameters_.interface.bits_per_second) * 1e6);
}

void Mimd::set_gap(double gap_us) {
    gap_us_ = std::max(0.0, gap_us);
    if (settings_.highest.bits_per_second > 0) {
        gap_us_ = std::max(gap_us_, gap_at(settings_.highest));
    }
}

void Mimd::on_loss(const LossSample&) {
    naks_ += 1;
    if (excessive_ || naks_ <= parameters_.most_naks) return;
    excessive_ = true;
    set_gap(gap_us_ + parameters_.b_us);
}

void Mimd::on_syn(const SynSample& sample) {
    gap_us_ *= sample.packet_bytes / packet_bytes_;  // the rate stays
    packet_bytes_ = sample.packet_bytes;
    elapsed_ += sample.elapsed;
    sent_ += sample.sent_packets;
    lost_ += sample.lost_packets;
    limited_ = limited_ || sample.limited;
    // T is a whole number of SYNs, whatever the ticks' jitter.
    if (elapsed_ < parameters_.round - settings_.syn / 2) return;
    end_round();
}

void Mimd::end_round() {
    if (sent_ > 0) {
        const double loss = std::min(1.0, static_cast<double>(lost_) / static_cast<double>(sent_));
        const double next = next_gap_us(parameters_, gap_us_, loss);
        if (next >= gap_us_ || !limited_) set_gap(next);
    }
    elapsed_ = Duration{0};
    sent_ = lost_ = 0;
    naks_ = 0;
    excessive_ = limited_ = false;
}

BitRate Mimd::rate() const {
    const double bits = packet_bytes_ * 8;
    const double seconds_each = bits / parameters_.interface.bits_per_second + gap_us_ / 1e6;
    return BitRate{bits / seconds_each};
}

double Mimd::window() const {
    return kWindowPackets * packet_bytes_;
}

}  // namespace lambda::sabul
