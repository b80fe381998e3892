#include "common/sabul/congestion/window_law.h"

#include <algorithm>
#include <utility>

namespace lambda::sabul {
namespace {

constexpr double kInitialWindow = 10;                         // packets, RFC 6928
constexpr double kLeastThreshold = 2;                         // packets, RFC 5681 (4)
constexpr double kStartPacing = 2.0, kAvoidancePacing = 1.2;  // Linux, net.ipv4.tcp_pacing_*_ratio
constexpr double kStartUse = 4, kAvoidanceUse = 2;  // of what a round delivers; RFC 7661 §4.3
constexpr Duration kLeastTimeout = std::chrono::seconds(1);  // RFC 6298 (2.4)
constexpr int kMostBackoff = 6;                              // doublings: to a minute

}  // namespace

WindowLaw::WindowLaw(const LawSettings& settings, std::unique_ptr<WindowRule> rule)
    : settings_(settings), rule_(std::move(rule)), window_(kInitialWindow) {}

void WindowLaw::on_ack(const AckSample& sample) {
    if (sample.packets == 0) return;
    measure(sample);
    const auto packets = static_cast<double>(sample.packets);
    rule_->acknowledged(path_, packets);
    if (recovering(sample) || !used()) return;
    if (slow_start()) {
        window_ = std::min(window_ + packets, threshold_);
    } else {
        window_ = std::max(window_, rule_->grown(path_, window_, packets));
    }
}

void WindowLaw::measure(const AckSample& sample) {
    const auto packets = static_cast<double>(sample.packets);
    const bool first = path_.rtt.count() == 0;
    if (first) last_ack_ = round_start_ = sample.now;
    path_.syn = settings_.syn;
    path_.rtt = sample.rtt + settings_.syn;
    const Duration least = sample.min_rtt + settings_.syn;
    path_.min_rtt = first || timeouts_ > 0 ? least : std::min(path_.min_rtt, least);
    if (sample.latest_rtt.count() > 0) {
        const Duration error = std::chrono::abs(sample.latest_rtt - sample.rtt);
        variation_ = first ? sample.rtt / 2 : (3 * variation_ + error) / 4;
    }
    round_packets_ += packets;
    if (sample.now - round_start_ >= path_.rtt) {
        last_round_packets_ = std::exchange(round_packets_, 0);
        round_start_ = sample.now;
    }
    if (!used()) unused_ += sample.now - last_ack_;
    last_ack_ = last_news_ = sample.now;
    path_.now = sample.now;
    path_.used = sample.now - unused_;
    in_flight_ -= packets - static_cast<double>(sample.late);
    timeouts_ = 0;
}

bool WindowLaw::used() const {
    const double delivered = std::max(round_packets_, last_round_packets_);
    return window_ <= (slow_start() ? kStartUse : kAvoidanceUse) * delivered;
}

bool WindowLaw::recovering(const AckSample& sample) const {
    return !sample.passages.empty() && sample.passages.back().sent <= event_at_;
}

void WindowLaw::on_loss(const LossSample& sample) {
    in_flight_ -= static_cast<double>(sample.packets);
    last_news_ = sample.now;
    if (any_loss_ && sample.lowest <= recovery_point_) return;
    if (sample.last_sent <= timed_out_at_) return;  // the timeout was the answer to these
    any_loss_ = true;
    recovery_point_ = sample.largest_sent;
    event_at_ = sample.now;
    threshold_ = std::max(rule_->reduced(path_, window_), kLeastThreshold);
    window_ = std::min(window_, threshold_);
}

void WindowLaw::on_syn(const SynSample& sample) {
    packet_bytes_ = sample.packet_bytes;
    if (in_flight_ <= 0) last_news_ = sample.now;
    in_flight_ = std::max(0.0, in_flight_ + static_cast<double>(sample.sent_packets));
    if (in_flight_ <= 0 || sample.now - last_news_ <= timeout()) return;
    threshold_ = std::max(rule_->reduced(path_, window_), kLeastThreshold);
    window_ = 1;
    timed_out_at_ = event_at_ = last_news_ = sample.now;
    in_flight_ = 0;
    timeouts_ = std::min(timeouts_ + 1, kMostBackoff);
}

Duration WindowLaw::timeout() const {
    return std::max(kLeastTimeout, path_.rtt + 4 * variation_) * (1 << timeouts_);
}

BitRate WindowLaw::rate() const {
    BitRate rate = settings_.initial;
    if (path_.rtt.count() > 0) {
        const double gain = slow_start() ? kStartPacing : kAvoidancePacing;
        rate = BitRate::from_bytes_per_second(gain * window() / seconds(path_.rtt));
    }
    const bool bounded = settings_.highest.bits_per_second > 0;
    return bounded ? std::min(rate, settings_.highest) : rate;
}

}  // namespace lambda::sabul
