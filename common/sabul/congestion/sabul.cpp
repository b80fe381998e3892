#include "common/sabul/congestion/sabul.h"

#include <algorithm>
#include <cmath>

#include "common/sabul/congestion/target_delay.h"

namespace lambda::sabul {
namespace {

using std::chrono::milliseconds;

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
constexpr double kLossPrice = 0.2;  // s for each unit of loss above the ambient
constexpr double kLossMargin = 0.005;
constexpr double kMostLossMargin = 0.05;
constexpr double kHardLoss = 0.02;  // above the margin: the rate falls with it
// What calls for a look at the floor of a queue that all fill: so much, or where it stays for so
// many steps.
constexpr double kMuchLoss = 0.1;
constexpr double kSomeLoss = 0.01;
constexpr int kLossySteps = 100;
constexpr double kLeastPackets = 20;  // a second

// Who yields wholly starts no faster than this.
constexpr double kYieldingStart = 10e6 / 8;  // bytes a second
constexpr double kAfterStart = 0.75;

constexpr double kAmbientSpread = 1.5;  // of one control interval's
constexpr double kDrain = 0.5;
constexpr Duration kSilence = std::chrono::seconds(1);

// Who yields wholly must not take a queue that stands for long for the path.
Duration base_life(const LawSettings& settings) {
    return std::chrono::seconds(settings.competes ? 10 : 60);
}

}  // namespace

Sabul::Sabul(const LawSettings& settings)
    : settings_(settings),
      arrivals_(settings.syn, base_life(settings)),
      rate_(settings.competes ? settings.initial.bytes_per_second()
                              : std::min(settings.initial.bytes_per_second(), kYieldingStart)),
      sending_(rate_),
      window_(rate_ * 1.0),  // one second's worth until the round trip is known
      start_(settings),
      ambient_(settings.syn, settings.seed),
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
    arrivals_.forget_passed();
    set_rate(now, rate);
}

// A path that takes short packets alone acknowledges those: there is no silence.
bool Sabul::in_vain(Time now) const {
    return lost_in_vain_ >= LossWindow::kTelling && now - passed_ > 2 * round();
}

void Sabul::on_ack(const AckSample& sample) {
    const Time now = sample.now;
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
    if (sample.bytes > 0) {
        passed_ = now;
        lost_in_vain_ = 0;
    } else if (in_vain(now)) {
        restart(now, rate_ / 2);
        start_.hold(rate_);
        passed_ = now;  // at most once in two rounds, however many stripes tell it
        lost_in_vain_ = 0;
    }
    arrivals_.add(sample, round());
    if (sample.passages.empty()) return;
    ambient_.add_received(sample.passages.back().sent, static_cast<double>(sample.packets));
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

void Sabul::on_loss(const LossSample& sample) {
    const bool still = arrivals_.met_standstill(sample.stripe, sample.first_sent, sample.last_sent);
    const double lost = still ? ambient_part(sample) : static_cast<double>(sample.packets);
    lost_in_vain_ += static_cast<double>(sample.packets);
    if (!left_in_start(sample.first_sent)) losses_.add(sample.now, lost, 0);
    if (contest_ && !still) contest_->on_loss(sample);
    ambient_.add_lost(sample.first_sent, lost);
}

// As much of it as the path loses anyway. Loss in a standstill is counted beside all that arrived,
// and would read too low if this were left out.
double Sabul::ambient_part(const LossSample& sample) const {
    const Duration span = std::max(sample.last_sent - sample.first_sent, settings_.syn);
    const double sent = sendings_.mean(sample.first_sent, sample.first_sent + span) *
                        seconds(span) / packet_bytes_ / static_cast<double>(arrivals_.stripes());
    return std::min(static_cast<double>(sample.packets), kAmbientSpread * ambient_.value() * sent);
}

void Sabul::start_up(Time now, const AckSample& sample) {
    // On a short path the first ACKs come once a round trip.
    const Duration least = std::clamp(2 * rtt_, settings_.syn / 4, least_span());
    const Arrivals::Span span = lately(now, usual_width(), least);
    const bool passed = span.known && span.delivered > 0;
    Start::Sight sight{
        .now = now,
        .rtt = rtt_,
        .round = round(),
        .rate = rate_,
        .left = rates_.mean(sample.passages.front().sent, sample.passages.back().sent),
        .queue = arrivals_.queue(),
        .loss = recent_loss(now),
        .passed = {}};
    if (passed) {
        sight.passed = {.left = rates_.mean(span.sent_from, span.sent_to),
                        .delivered = span.delivered,
                        .latest = lately(now, least, least).delivered,
                        .limited = limited_.any(span.sent_from, span.sent_to)};
        if (const auto share = losses_.share(now, round(), 2 * LossWindow::kTelling))
            ambient_.meet(*share);
    }
    const double rate = start_.next(sight);
    if (start_.over()) return leave_start(now, rate);
    set_rate(now, rate);
}

void Sabul::leave_start(Time now, double delivered) {
    ambient_.end_start(now, round(), 1 - kAfterStart);
    started_ = now;
    emptying_ = emptied_ = false;
    set_rate(now, delivered);
}

// What left in the dip after the start empties the queue, if all that fed it was ours: then its end
// has answered for what was lost. Among others that start, too, their loss is an answer they need.
void Sabul::judge_start(const Arrivals::Span& span) {
    const bool left_in_dip = ambient_.left_in_first(span.sent_from);
    if (left_in_dip && !emptied_ && arrivals_.queue() < 2 * target_delay(rate_)) {
        emptied_ = true;
        losses_.clear();
    }
    emptying_ = left_in_dip && !emptied_ && span.fate >= Arrivals::kMostFate;
}

double Sabul::recent_loss(Time now) const {
    return losses_.share(now, std::max<Duration>(round(), milliseconds(50)), LossWindow::kTelling)
        .value_or(0);
}

double Sabul::loss_excess(Time now) const {
    if (emptying_) return 0;
    const double margin = std::clamp(1.5 * loss_deviation_, kLossMargin, kMostLossMargin);
    return recent_loss(now) - ambient_.value() - margin;
}

void Sabul::step(Time now) {
    const Arrivals::Span span = lately(now, usual_width(), least_span());
    if (!span.known) return;
    if (span.sent_from < started_) {
        // What the start sent fills the path: what comes of it is what the path carries.
        set_rate(
            now,
            std::max(rate_,
                     lately(now, std::max(rtt_ / 2, 4 * settings_.syn), least_span()).delivered));
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
    const double price =
        arrivals_.smooth_queue() + std::min(kLossPrice * std::max(0.0, excess), 3 * target);
    double e = (target - price) / (target + price);
    if (e > 0 && limited_.any(span.sent_from, span.sent_to)) e = 0;
    lean_ += (e - lean_) * std::min(1.0, seconds(settings_.syn) / (kLeanRounds * seconds(round())));
    const double gain = kGain * std::min(1.0, std::sqrt(kGainRound / seconds(round())));
    // A queue that empties since less than R left (brake, dip, drain) says nothing of a path that
    // carries more; taken so, R rises while it must not, and a deep queue stays for seconds.
    const double held = std::min(1.0, sendings_.mean(span.sent_from, span.sent_to) / then);
    const double fate = span.fate > 1 ? std::max(1.0, span.fate * held) : span.fate;
    double rate = then * fate * (1 + gain * e + kLean * lean_);
    // A full queue passes on at the speed of sending what it does not drop: fate does not see it.
    if (excess > kHardLoss) rate *= 1 - std::min(0.5, excess > kMuchLoss ? excess : excess / 2);
    lossy_steps_ = excess > kSomeLoss ? lossy_steps_ + 1 : 0;
    // Beside rivals it is what we get, whatever the queue says: we go on from there without them.
    if (contending) rate = contest_ ? contest_->terms().rate : rate_;
    set_rate(now, rate);
    if (!contending && !contest_ &&
        start_.take_up(now, round(), rate_, e > 0 && excess <= 0 && arrivals_.queue() < target))
        return;
    ambient_.step({.now = now,
                   .rtt = rtt_,
                   .round = round(),
                   .rate = rate_,
                   .queue = arrivals_.queue(),
                   .recent = loss,
                   .excess = excess,
                   .drained = now < drain_to_ + round()});
    drain(now);
    doubt_base(now);
}

void Sabul::contend(Time now, const Arrivals::Span& span) {
    if (!settings_.competes) return;
    if (!contest_) {
        if (rival_.watch(now, rate_, arrivals_.queue(), round()))
            contest_.emplace(settings_, rival_.terms(), now, round());
        return;
    }
    contest_->step(now,
                   {.sent_from = span.sent_from,
                    .sent_to = span.sent_to,
                    .sent = sendings_.mean(span.sent_from, span.sent_to),
                    .delivered = span.delivered,
                    .limited = limited_.any(span.sent_from, span.sent_to),
                    .width = usual_width()},
                   arrivals_.queue(), round());
    if (!contest_->over()) return;
    rival_.left(now, contest_->terms());
    set_rate(now, contest_->terms().rate);
    contest_.reset();
}

// Half the rate for a round trip, so that all flows of the queue see its floor.
void Sabul::drain(Time now) {
    const bool lossy = loss_excess(now) > kMuchLoss || lossy_steps_ > kLossySteps;
    if ((!lossy && !arrivals_.base_is_old(now)) ||
        now < drain_from_ + std::max<Duration>(std::chrono::seconds(1), 4 * rtt_))
        return;
    drain_from_ = now;
    drain_to_ = now + std::max(rtt_, settings_.syn) + settings_.syn;
    lossy_steps_ = 0;
}

// Who yields wholly gives way to what may be a longer route, too: it may be TCP's full queue.
void Sabul::doubt_base(Time now) {
    if (!settings_.competes || contest_) return longer_.reset();
    const auto found = longer_.step(now, round(), arrivals_.waiting(), target_delay(rate_), rates_);
    if (!found) return;
    arrivals_.raise_base(found->by);
    lean_ = 0;
    rates_.lift(found->rate);  // it was given up for nothing
    set_rate(now, found->rate);
}

// What leaves: R, less a brake on a queue above the target, less a dip or a drain.
void Sabul::apply(Time now) {
    const double over = arrivals_.waiting() - 2 * target_delay(rate_);
    const double brake =
        starting() ? 0 : std::min(0.5, std::max(0.0, over) / (2 * seconds(round())));
    double share = (1 - brake) * ambient_.share(now);
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
    const Duration held = arrivals_.held_up(last_ack_, round());
    window_ =
        1.25 * sendings_.most_since(now - 2 * round()) * seconds(feedback + settings_.syn + held) +
        16 * packet_bytes_;
    if (contest_) window_ = contest_->window().value_or(window_);
}

void Sabul::on_syn(const SynSample& sample) {
    packet_bytes_ = sample.packet_bytes;
    if (contest_) contest_->on_syn(sample);
    limited_.add(sample);
    if (last_ack_ != Time{}) apply(sample.now);
}

}  // namespace lambda::sabul
