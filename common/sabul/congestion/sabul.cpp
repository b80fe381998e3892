#include "common/sabul/congestion/sabul.h"

#include <algorithm>
#include <cmath>

#include "common/sabul/congestion/target_delay.h"

namespace lambda::sabul {
namespace {

using std::chrono::milliseconds;

constexpr double kHalfLife = 0.02;  // s, of a delay that was read
// A round trip. What a longer one does in one step is not seen for as long, and would swing: there
// the step shrinks with the root of its length. A greater one costs a flow alone as much of the
// path as it swings (0.08: 1.3 % of it at 10 ms, 0.05: 0.7 %), and lean makes flows alike without
// it.
constexpr double kGain = 0.05;
constexpr double kGainRound = 0.01;  // s
// What all flows of a queue do together averages out over some rounds; what is left of e is our own
// distance from the fair share, and costs no oscillation.
constexpr double kLean = 0.08;
constexpr double kLeanRounds = 20;
constexpr double kLeastFate = 0.4, kMostFate = 1.25;
constexpr double kLossPrice = 0.2;  // s for each unit of loss above the ambient
constexpr double kLossMargin = 0.005;
constexpr double kMostLossMargin = 0.05;
constexpr double kHardLoss = 0.02;  // above the margin: the rate falls with it
// What calls for a look at what the path loses anyway, and, where it stays for so many steps or is
// so much, for one at the floor of a queue that all fill.
constexpr double kSomeLoss = 0.01, kMuchLoss = 0.1;
constexpr int kLossySteps = 100;
constexpr double kLeastPackets = 20;  // a second
constexpr double kLossPackets = 200;  // that a share of loss needs

// Who yields wholly starts no faster than this.
constexpr double kYieldingStart = 10e6 / 8;  // bytes a second
constexpr double kAfterStart = 0.75;

// More is not the path's, unless it stays what it is with so much less than when it was met.
constexpr double kAmbientCap = 0.06;
constexpr double kMostAmbient = 0.2;
constexpr double kMuchLess = 0.5, kVeryMuchLess = 0.125;
constexpr double kAmbientSpread = 1.5;  // of one control interval's
constexpr double kAmbientMemory = 0.8;
constexpr double kDip = 0.03;
constexpr double kDrain = 0.5;
constexpr double kSteady = 1.125;
constexpr double kDoubt = 4;  // target delays: a queue that is not ours to price
constexpr Duration kSilence = std::chrono::seconds(1);

}  // namespace

Sabul::Sabul(const LawSettings& settings)
    : settings_(settings),
      random_(static_cast<std::minstd_rand::result_type>(settings.seed + 1)),
      rate_(settings.competes ? settings.initial.bytes_per_second()
                              : std::min(settings.initial.bytes_per_second(), kYieldingStart)),
      sending_(rate_),
      window_(rate_ * 1.0),  // one second's worth until the round trip is known
      start_(settings),
      most_ambient_(kAmbientCap),
      rival_(settings.seed) {}

// What the user allows comes before what we need.
double Sabul::bounded(double rate) const {
    rate = std::max(rate, kLeastPackets * packet_bytes_);
    const double highest = settings_.highest.bytes_per_second();
    return highest > 0 ? std::min(rate, highest) : rate;
}

void Sabul::set_rate(Time now, double rate) {
    rate_ = bounded(rate);
    rates_.set(now, rate_);
}

// After a silence, or where nothing gets through, the path may be another one.
void Sabul::restart(Time now, double rate) {
    start_.again();
    contest_.reset();
    rival_ = Rival(settings_.seed);
    losses_.clear();
    for (Stripe& stripe : stripes_) stripe.passages.clear();
    set_rate(now, rate);
}

// A path that takes short packets alone acknowledges those: there is no silence.
bool Sabul::in_vain(Time now) const {
    return lost_in_vain_ >= kLossPackets && now - passed_ > 2 * round();
}

void Sabul::on_ack(const AckSample& sample) {
    const Time now = sample.now;
    if (sample.stripe >= stripes_.size())
        stripes_.resize(sample.stripe + std::size_t{1}, Stripe(base_life()));
    if (last_ack_ != Time{} && now - last_ack_ > std::max<Duration>(kSilence, 4 * rtt_))
        restart(now, std::max(rate_ / 4, std::min(rate_, settings_.initial.bytes_per_second())));
    if (last_ack_ == Time{}) {  // all that left so far, whatever the first ACKs make of the rate
        set_rate(now - Duration(1), rate_);
        sendings_.set(now - Duration(1), sending_);
    }
    last_ack_ = now;
    rtt_ = sample.rtt;
    if (now >= longest_end_) {
        last_longest_ = longest_rtt_;
        longest_rtt_ = Duration{0};
        longest_end_ = now + std::max<Duration>(milliseconds(500), 2 * rtt_);
    }
    longest_rtt_ = std::max(longest_rtt_, sample.latest_rtt);
    if (sample.passages.empty() || !left_in_start(sample.passages.back().sent))
        losses_.add(now, -static_cast<double>(sample.late), static_cast<double>(sample.packets));
    if (contest_) contest_->on_ack(sample);

    Stripe& stripe = stripes_[sample.stripe];
    stripe.bytes += sample.bytes;
    stripe.heard = now;
    if (sample.bytes > 0) {
        passed_ = now;
        lost_in_vain_ = 0;
    } else if (in_vain(now)) {
        restart(now, rate_ / 2);
        start_.hold(rate_);
        passed_ = now;  // at most once in two rounds, however many stripes tell it
        lost_in_vain_ = 0;
    }
    if (sample.passages.empty()) return;
    const Time sent = sample.passages.back().sent;
    if (sent >= dip_from_ && sent < dip_to_) dip_received_ += static_cast<double>(sample.packets);
    take_passages(stripe, sample);
    if (starting()) {
        start_up(now, sample);
    } else if (is_step(sample.passages.back().arrived)) {
        step(now);
    }
    apply(now);
}

// Whether it came so long after the last step's; that may be ahead of a clock that was set back.
bool Sabul::is_step(Duration arrived) {
    const Duration since = arrived - last_arrived_;
    if (since < least_span() && since > -Passages::kKept) return false;
    last_arrived_ = arrived;
    return true;
}

void Sabul::take_passages(Stripe& stripe, const AckSample& sample) {
    Duration waiting = Duration::max(), queue = Duration::max(), held{0};
    for (const Passage& passage : sample.passages) {
        const bool largest = &passage == &sample.passages.back();
        const Duration waited =
            stripe.delay.add(sample.now, passage, largest ? sample.latest_rtt : Duration{0});
        held = stripe.standstill.add(sample.now, passage, waited, round());
        waiting = std::min(waiting, waited);
        queue = std::min(queue, waited - held);
    }
    stripe.waiting = seconds(waiting);
    stripe.queue = seconds(queue);
    const Passage& last = sample.passages.back();
    // By time, whatever the SYN: a smoothed delay falls slowly below the target, and who smooths
    // for longer gives way for longer.
    const double since =
        stripe.passages.empty() ? 1 : seconds(last.arrived - stripe.passages.last().arrived);
    stripe.smooth_queue +=
        (stripe.queue - stripe.smooth_queue) * (1 - std::exp2(-std::max(0.0, since) / kHalfLife));
    stripe.passages.add({last.sent, last.arrived, last.arrived - held, stripe.bytes});

    double heard = 0;
    waiting_ = queue_ = smooth_queue_ = 0;
    for (const Stripe& each : stripes_) {
        if (sample.now - each.heard > 4 * settings_.syn) continue;
        waiting_ += each.waiting;
        queue_ += each.queue;
        smooth_queue_ += each.smooth_queue;
        ++heard;
    }
    waiting_ /= heard;
    queue_ /= heard;
    smooth_queue_ /= heard;
}

void Sabul::on_loss(const LossSample& sample) {
    const bool still = sample.stripe < stripes_.size() &&
                       stripes_[sample.stripe].standstill.met(sample.first_sent, sample.last_sent);
    const double lost = still ? ambient_part(sample) : static_cast<double>(sample.packets);
    lost_in_vain_ += static_cast<double>(sample.packets);
    if (!left_in_start(sample.first_sent)) losses_.add(sample.now, lost, 0);
    if (contest_ && !still) contest_->on_loss(sample);
    if (sample.first_sent >= dip_from_ && sample.first_sent < dip_to_) dip_lost_ += lost;
}

// As much of it as the path loses anyway. Loss in a standstill is counted beside all that arrived,
// and would read too low if this were left out.
double Sabul::ambient_part(const LossSample& sample) const {
    const Duration span = std::max(sample.last_sent - sample.first_sent, settings_.syn);
    const double sent = sendings_.mean(sample.first_sent, sample.first_sent + span) *
                        seconds(span) / packet_bytes_ / static_cast<double>(stripes_.size());
    return std::min(static_cast<double>(sample.packets), kAmbientSpread * ambient_ * sent);
}

Sabul::Span Sabul::lately(Time now, Duration width, Duration least) const {
    Span span{.sent_from = Time::max(), .sent_to = Time::min()};
    double sent = 0, arrived = 0;
    for (const Stripe& stripe : stripes_) {
        const bool fresh = now - stripe.heard <= std::max<Duration>(width, 4 * settings_.syn);
        if (!fresh && !held_up(stripe, now)) continue;
        const auto passed = stripe.passages.lately(width, least);
        if (!passed) continue;
        span.delivered += passed->delivered;
        if (!fresh) continue;
        sent += passed->sent;
        arrived += passed->arrived;
        span.sent_from = std::min(span.sent_from, passed->sent_from);
        span.sent_to = std::max(span.sent_to, passed->sent_to);
        span.known = true;
    }
    if (span.known) span.fate = std::clamp(sent / arrived, kLeastFate, kMostFate);
    return span;
}

void Sabul::start_up(Time now, const AckSample& sample) {
    // On a short path the first ACKs come once a round trip.
    const Duration least = std::clamp(2 * rtt_, settings_.syn / 4, least_span());
    const Span span = lately(now, usual_width(), least);
    const bool passed = span.known && span.delivered > 0;
    Start::Sight sight{
        .now = now,
        .rtt = rtt_,
        .round = round(),
        .rate = rate_,
        .left = rates_.mean(sample.passages.front().sent, sample.passages.back().sent),
        .queue = queue_,
        .loss = recent_loss(now),
        .passed = {}};
    if (passed) {
        sight.passed = {.left = rates_.mean(span.sent_from, span.sent_to),
                        .delivered = span.delivered,
                        .latest = lately(now, least, least).delivered,
                        .limited = was_limited(span.sent_from, span.sent_to)};
        if (const auto share = losses_.share(now, round(), 2 * kLossPackets)) {
            ambient_ = ambient_packets_ == 0 ? *share : std::min(ambient_, *share);
            ambient_packets_ = kLossPackets;
        }
    }
    const double rate = start_.next(sight);
    if (start_.over()) return leave_start(now, rate);
    set_rate(now, rate);
}

void Sabul::leave_start(Time now, double delivered) {
    ambient_ = std::min(ambient_, kAmbientCap);
    ambient_packets_ = kLossPackets;
    ambient_lost_ = ambient_ * ambient_packets_;
    started_ = now;
    emptying_ = emptied_ = false;
    set_rate(now, delivered);
    dip_from_ = now;
    dip_to_ = now + round();
    dip_depth_ = 1 - kAfterStart;
    dip_lost_ = dip_received_ = 0;
    next_dip_ = dip_to_ + 2 * round();
}

// What left in the dip after the start empties the queue, if all that fed it was ours: then its end
// has answered for what was lost. Among others that start, too, their loss is an answer they need.
void Sabul::judge_start(const Span& span) {
    const bool left_in_dip = dip_from_ == started_ && span.sent_from < dip_to_;
    if (left_in_dip && !emptied_ && queue_ < 2 * target_delay(rate_)) {
        emptied_ = true;
        losses_.clear();
    }
    emptying_ = left_in_dip && !emptied_ && span.fate >= kMostFate;
}

bool Sabul::held_up(const Stripe& stripe, Time now) const {
    const Duration silent = now - stripe.heard;
    return silent > 4 * settings_.syn && silent <= 4 * round();
}

bool Sabul::was_limited(Time from, Time to) const {
    return std::any_of(limited_.begin(), limited_.end(),
                       [&](const LimitedSpan& span) { return span.from < to && span.to > from; });
}

double Sabul::recent_loss(Time now) const {
    return losses_.share(now, std::max<Duration>(round(), milliseconds(50)), kLossPackets)
        .value_or(0);
}

double Sabul::loss_excess(Time now) const {
    if (emptying_) return 0;
    const double margin = std::clamp(1.5 * loss_deviation_, kLossMargin, kMostLossMargin);
    return recent_loss(now) - ambient_ - margin;
}

void Sabul::step(Time now) {
    const Span span = lately(now, usual_width());
    if (!span.known) return;
    if (span.sent_from < started_) {
        // What the start sent fills the path: what comes of it is what the path carries.
        set_rate(now,
                 std::max(rate_, lately(now, std::max(rtt_ / 2, 4 * settings_.syn)).delivered));
        return;
    }
    judge_start(span);
    const bool contending = contest_.has_value();
    contend(now, span);
    if (rival_.challenging()) return;  // what comes of it says nothing of the rate
    const double loss = recent_loss(now);
    loss_deviation_ += (std::abs(loss - loss_mean_) - loss_deviation_) / 64;
    loss_mean_ += (loss - loss_mean_) / 16;
    const double excess = loss_excess(now);
    const double then = rates_.mean(span.sent_from, span.sent_to);
    const double target = target_delay(then);
    const double price = smooth_queue_ + std::min(kLossPrice * std::max(0.0, excess), 3 * target);
    double e = (target - price) / (target + price);
    if (e > 0 && was_limited(span.sent_from, span.sent_to)) e = 0;
    lean_ += (e - lean_) * std::min(1.0, seconds(settings_.syn) / (kLeanRounds * seconds(round())));
    const double gain = kGain * std::min(1.0, std::sqrt(kGainRound / seconds(round())));
    // A queue that empties since less than R left (brake, dip, drain) says nothing of a path that
    // carries more; taken so, R rises while it must not, and a deep queue stays for seconds.
    const double held = std::min(1.0, sendings_.mean(span.sent_from, span.sent_to) / then);
    const double fate = span.fate > 1 ? std::max(1.0, span.fate * held) : span.fate;
    double rate = then * fate * (1 + gain * e + kLean * lean_);
    // A full queue passes on at the speed of sending what it does not drop: fate does not see it.
    if (excess > kHardLoss) rate *= 1 - std::min(0.5, excess > kMuchLoss ? excess : excess / 2);
    lossy_acks_ = excess > kSomeLoss ? lossy_acks_ + 1 : 0;
    // Beside rivals it is what we get, whatever the queue says: we go on from there without them.
    if (contending) rate = contest_ ? contest_->terms().rate : rate_;
    set_rate(now, rate);
    if (!contending && !contest_ &&
        start_.take_up(now, round(), rate_, e > 0 && excess <= 0 && queue_ < target))
        return;
    probe_loss(now);
    expire_base(now);
    doubt_base(now);
}

void Sabul::contend(Time now, const Span& span) {
    if (!settings_.competes) return;
    if (!contest_) {
        if (rival_.watch(now, rate_, queue_, round()))
            contest_.emplace(settings_, rival_.terms(), now, round());
        return;
    }
    contest_->step(now,
                   {.sent_from = span.sent_from,
                    .sent_to = span.sent_to,
                    .sent = sendings_.mean(span.sent_from, span.sent_to),
                    .delivered = span.delivered,
                    .limited = was_limited(span.sent_from, span.sent_to),
                    .width = usual_width()},
                   queue_, round());
    if (!contest_->over()) return;
    rival_.left(now, contest_->terms());
    set_rate(now, contest_->terms().rate);
    contest_.reset();
}

// A delay far above the target that stays what it is though we send less and less is none of our
// making, nor anybody's who answers to it: the route is longer now. Among flows of this law a queue
// that high is braked for by all and moves. Who yields wholly gives way all the same: it may be
// TCP's full queue.
void Sabul::doubt_base(Time now) {
    if (!settings_.competes || contest_ || waiting_ < kDoubt * target_delay(rate_)) {
        doubted_since_ = Time{};
        return;
    }
    if (doubted_since_ == Time{}) doubted_rate_ = rates_.mean(now - 3 * round(), now - round());
    const bool steady = doubted_since_ != Time{} && waiting_ < kSteady * doubted_least_ &&
                        doubted_most_ < kSteady * waiting_;
    if (!steady) {
        doubted_since_ = now;
        doubted_least_ = doubted_most_ = waiting_;
    }
    doubted_least_ = std::min(doubted_least_, waiting_);
    doubted_most_ = std::max(doubted_most_, waiting_);
    // Long enough for flows of much longer round trips to answer, too.
    if (now - doubted_since_ < std::max<Duration>(3 * round(), kSilence)) return;
    for (Stripe& stripe : stripes_) {
        stripe.delay.raise(from_seconds(std::min(stripe.waiting, doubted_least_)));
        stripe.standstill = Standstill();
        stripe.waiting = stripe.queue = stripe.smooth_queue = 0;
    }
    waiting_ = queue_ = smooth_queue_ = lean_ = 0;
    rates_.lift(doubted_rate_);  // it was given up for nothing
    set_rate(now, doubted_rate_);
    doubted_since_ = Time{};
}

// A dip: a little less than got through for a round trip. Loss that stays is not ours.
void Sabul::probe_loss(Time now) {
    const double excess = loss_excess(now);
    // What left at its end was told to be lost an interval after what arrived.
    const Time told = dip_to_ + 2 * round();
    if (dip_to_ != Time{} && dip_judged_ != dip_to_ && now > told) {
        dip_judged_ = dip_to_;
        if (dip_received_ + dip_lost_ > 0) {
            ambient_lost_ = kAmbientMemory * ambient_lost_ + dip_lost_;
            ambient_packets_ = kAmbientMemory * ambient_packets_ + dip_lost_ + dip_received_;
            judge_ambient(recent_loss(now));
        }
    }
    const bool due = now >= next_dip_ || (excess > kSomeLoss && now >= dip_to_ + 6 * round());
    if (!due || now < told || now < drain_to_ + round()) return;
    const double loss = recent_loss(now);
    dip_depth_ = std::min(0.5, std::max(kDip, loss + 0.02));
    dip_from_ = now;
    dip_to_ = now + std::max(rtt_, 2 * settings_.syn) + settings_.syn;
    dip_lost_ = dip_received_ = 0;
    const double draw = 0.5 + static_cast<double>(random_()) / static_cast<double>(random_.max());
    next_dip_ = now + from_seconds(draw * std::max(1.0, 12 * seconds(rtt_)));
}

// Where all who share a short queue lose what they send too much, each would take that for the
// path's, and none would send less. What dips tell lags behind where the rate falls: few packets
// leave in those of a low rate, and many of before are remembered.
void Sabul::judge_ambient(double recent) {
    double measured = ambient_lost_ / ambient_packets_;
    if (std::max(measured, recent) <= most_ambient_) {
        most_ambient_ = std::max(kAmbientCap, std::min(most_ambient_, 1.25 * measured));
        beyond_rate_ = 0;
    } else if (rate_ >= beyond_rate_) {
        beyond_rate_ = rate_;
    } else if (is_path_loss()) {
        measured = recent;
        ambient_lost_ = measured * ambient_packets_;
        most_ambient_ = std::min(1.25 * measured, kMostAmbient);
    }
    ambient_ = std::min(measured, most_ambient_);
}

// It stayed when we left the path to others. These hold a queue of their own there, which is none
// to a flow of a much lower rate.
bool Sabul::is_path_loss() const {
    if (rate_ < kVeryMuchLess * beyond_rate_) return queue_ < target_delay(rate_) / 2;
    return rate_ < kMuchLess * beyond_rate_ && queue_ < target_delay(beyond_rate_) / 2;
}

// A drain: half the rate for a round trip, so that all flows of the queue see its floor.
void Sabul::expire_base(Time now) {
    bool old = false;
    for (const Stripe& stripe : stripes_)
        old = old || (stripe.passages.size() > 1 &&
                      now - stripe.delay.base_seen(now) > base_life() - std::chrono::seconds(1));
    const bool lossy = loss_excess(now) > kMuchLoss || lossy_acks_ > kLossySteps;
    if ((!old && !lossy) ||
        now < drain_from_ + std::max<Duration>(std::chrono::seconds(1), 4 * rtt_))
        return;
    drain_from_ = now;
    drain_to_ = now + std::max(rtt_, settings_.syn) + settings_.syn;
    lossy_acks_ = 0;
}

// What leaves: R, less a brake on a queue above the target, less a dip or a drain.
void Sabul::apply(Time now) {
    const double over = waiting_ - 2 * target_delay(rate_);
    const double brake =
        starting() ? 0 : std::min(0.5, std::max(0.0, over) / (2 * seconds(round())));
    double share = 1 - brake;
    if (now >= dip_from_ && now < dip_to_) share *= 1 - dip_depth_;
    if (now >= drain_from_ && now < drain_to_) share = std::min(share, kDrain);
    sending_ = rate_;
    if (contest_) {
        share = 1;
        sending_ = contest_->rate(now, round());
    } else if (const double challenge = rival_.challenge(now); challenge > 0) {
        share = 1;
        sending_ = challenge;
    }
    sending_ = bounded(bounded(sending_) * share);
    sendings_.set(now, sending_);
    const Duration feedback = std::max({rtt_, longest_rtt_, last_longest_});
    // Who is silent while others are heard has so much more under way.
    Duration held{0};
    for (const Stripe& stripe : stripes_) {
        if (held_up(stripe, last_ack_)) held += last_ack_ - stripe.heard;
    }
    held /= static_cast<Duration::rep>(std::max<std::size_t>(1, stripes_.size()));
    window_ =
        1.25 * sendings_.most_since(now - 2 * round()) * seconds(feedback + settings_.syn + held) +
        16 * packet_bytes_;
    if (contest_) window_ = contest_->window().value_or(window_);
}

void Sabul::on_syn(const SynSample& sample) {
    packet_bytes_ = sample.packet_bytes;
    if (contest_) contest_->on_syn(sample);
    if (sample.limited) {
        if (!limited_.empty() && limited_.back().to == sample.now - sample.elapsed) {
            limited_.back().to = sample.now;
        } else {
            limited_.push_back({sample.now - sample.elapsed, sample.now});
        }
    }
    while (!limited_.empty() && limited_.front().to + Passages::kKept < sample.now)
        limited_.pop_front();
    if (last_ack_ != Time{}) apply(sample.now);
}

}  // namespace lambda::sabul
