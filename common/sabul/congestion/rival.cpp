#include "common/sabul/congestion/rival.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

constexpr double kForeign = 0.006;      // s
constexpr double kPoor = 0.25;          // of the highest rate ...
constexpr double kPoorRate = 10e6 / 8;  // ... or less than this, bytes a second
constexpr double kFade = 0.98;          // of the highest rate, a stretch
constexpr double kEmpty = 0.002;        // s
constexpr Duration kStretch = std::chrono::seconds(1);
constexpr Duration kProbeEvery = std::chrono::seconds(10);
constexpr double kLeastWindow = 10;  // RFC 6928
constexpr double kPacket = 1440;

}  // namespace

void Rival::watch(Time now, double rate, double queue, Duration round) {
    if (present_) return judge_probe(now, queue, round);
    best_ = std::max(best_, rate);
    least_ = std::min(least_, queue);
    if (now < stretch_end_) return;
    const bool stands = std::min(least_, last_least_) > kForeign;
    last_least_ = least_ == kNone ? 0 : least_;
    least_ = kNone;
    stretch_end_ = now + std::max<Duration>(kStretch, 4 * round);
    best_ *= kFade;
    if (stands && (rate < kPoor * best_ || rate < kPoorRate))
        enter(now, rate / kPacket * seconds(round), round);
}

void Rival::enter(Time now, double packets, Duration round) {
    present_ = true;
    rule_ = Cubic();
    slow_start_ = true;
    window_ = std::max(packets, kLeastWindow);
    event_at_ = now;
    plan_probe(now, round);
}

void Rival::plan_probe(Time now, Duration round) {
    probe_from_ = now + kProbeEvery;
    probe_to_ = probe_from_ + 2 * round;
    probe_least_ = kNone;
}

void Rival::judge_probe(Time now, double queue, Duration round) {
    if (now >= probe_from_ + round) probe_least_ = std::min(probe_least_, queue);
    if (now < probe_to_ + round) return;
    if (probe_least_ < kEmpty) {
        present_ = false;
        last_least_ = 0;
        return;
    }
    plan_probe(now, round);
}

void Rival::on_ack(const AckSample& sample, Duration syn) {
    if (!present_ || sample.passages.empty() || sample.passages.back().sent <= event_at_ ||
        probing(sample.now))
        return;
    const auto packets = static_cast<double>(sample.packets);
    if (slow_start_) {
        window_ += packets;
        return;
    }
    const WindowPath path{sample.now, sample.rtt + syn, sample.min_rtt + syn};
    window_ = std::max(window_, rule_.grown(path, window_, packets));
}

void Rival::on_loss(const LossSample& sample) {
    if (!present_ || sample.last_sent <= event_at_) return;
    event_at_ = sample.now;
    slow_start_ = false;
    window_ = std::max(rule_.reduced({sample.now, sample.rtt, sample.rtt}, window_), kLeastWindow);
}

}  // namespace lambda::sabul
