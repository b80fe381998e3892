#include "common/sabul/congestion/rival.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

constexpr double kForeign = 0.006;      // s
constexpr double kPoor = 0.25;          // of the highest rate ...
constexpr double kPoorRate = 10e6 / 8;  // ... or less than this, bytes a second
constexpr double kFade = 0.995;         // of the highest rate, a stretch
constexpr double kEmpty = 0.002;        // s
constexpr Duration kStretch = std::chrono::seconds(1);
constexpr Duration kProbeEvery = std::chrono::seconds(10);
constexpr Duration kProbeSeldom = std::chrono::seconds(80);
constexpr double kChallengePoor = 0.4;  // of the highest rate
constexpr double kChallenge = 4;        // of the rate
constexpr double kMostMore = 0.1;       // of the highest rate
constexpr int kChallengeRounds = 10;
constexpr Duration kLeastChallenge = std::chrono::seconds(1);
constexpr double kLeastPatience = 2, kMostPatience = 6;  // s
constexpr double kGrown = 1.6;                           // a queue that others do not make room in
constexpr double kGrownBy = 0.001;                       // s
constexpr double kThrough = 0.5;                         // of the challenge
constexpr double kForgive = 0.5;
constexpr double kUsual = 0.02;      // a step
constexpr double kLeastWindow = 10;  // RFC 6928
constexpr double kPacket = 1440;

}  // namespace

void Rival::watch(Time now, double rate, double delivered, double queue, Duration round) {
    if (present_) return judge_probe(now, queue, round);
    if (challenging()) return judge_challenge(now, delivered, queue, round);
    usual_queue_ += (queue - usual_queue_) * kUsual;
    if (rate >= kChallengePoor * best_) {
        poor_since_ = now;
        patience_ =
            from_seconds(std::uniform_real_distribution<>(kLeastPatience, kMostPatience)(random_));
    } else if (now - poor_since_ > patience_ + 10 * round) {
        return begin_challenge(now, rate, round);
    }
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

void Rival::begin_challenge(Time now, double rate, Duration round) {
    challenge_rate_ = std::min(kChallenge * rate, rate + kMostMore * best_);
    challenge_from_ = now;
    challenge_to_ = now + std::max<Duration>(kLeastChallenge, kChallengeRounds * round);
    challenge_least_ = kNone;
    challenge_delivered_ = 0;
}

// Judged by its second half, as it arrives.
void Rival::judge_challenge(Time now, double delivered, double queue, Duration round) {
    const Time half = challenge_from_ + (challenge_to_ - challenge_from_) / 2 + round;
    if (now >= half) challenge_least_ = std::min(challenge_least_, queue);
    challenge_delivered_ = std::max(challenge_delivered_, delivered);
    if (now < challenge_to_ + round) return;
    const bool grown = challenge_least_ != kNone &&
                       challenge_least_ > std::max(kGrown * usual_queue_, usual_queue_ + kGrownBy);
    const bool through = challenge_delivered_ > kThrough * challenge_rate_;
    challenge_to_ = Time{};
    poor_since_ = now;
    if (grown && through) {
        enter(now, challenge_rate_ / kPacket * seconds(round), round);
        slow_start_ = false;  // the queue has room, theirs is the path
        return;
    }
    best_ *= kForgive;  // it may be a share like others'
}

void Rival::enter(Time now, double packets, Duration round) {
    present_ = true;
    rule_ = Cubic();
    slow_start_ = true;
    window_ = std::max(packets, kLeastWindow);
    event_at_ = now;
    // Found again soon after it was left: they were there all the time.
    const bool again = probe_to_ != Time{} && now < probe_to_ + 2 * kProbeEvery;
    probe_every_ = again ? std::min(2 * probe_every_, kProbeSeldom) : kProbeEvery;
    plan_probe(now, round);
}

void Rival::plan_probe(Time now, Duration round) {
    probe_from_ = now + probe_every_;
    probe_to_ = probe_from_ + 2 * round;
    probe_least_ = kNone;
}

void Rival::judge_probe(Time now, double queue, Duration round) {
    if (now >= probe_from_ + round) probe_least_ = std::min(probe_least_, queue);
    if (now < probe_to_ + round) return;
    if (probe_least_ < kEmpty) {
        present_ = false;
        last_least_ = 0;
        poor_since_ = now;
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
