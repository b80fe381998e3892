#include "common/sabul/congestion/contest.h"

#include <algorithm>
#include <cmath>

namespace lambda::sabul {
namespace {

constexpr double kProbe = 0.25;                     // of the rate, to see what becomes of the queue
constexpr double kEmpty = 0.002;                    // s
constexpr double kLeastWindow = 10;                 // RFC 6928
constexpr double kStartUse = 4, kAvoidanceUse = 2;  // of what a round delivers; RFC 7661 §4.3
constexpr double kScant = 1.0 / 3;    // of the best: a window that met a full queue, perhaps
constexpr double kPoor = 0.25;        // of the best: a window does not get more
constexpr double kSounded = 0.6;      // of what a path carries: to have been what we had
constexpr double kNearlyPoor = 0.75;  // of what is poor: rivals made room for so much
constexpr double kNearlyAll = 0.8;    // of the best, ...
constexpr double kListened = 0.008;   // ... with less loss: they made room
constexpr double kLossMemory = 3;     // s, and 30 rounds
constexpr Duration kPoorFor = std::chrono::seconds(3);
constexpr int kPoorRounds = 10;
constexpr Duration kOpening = std::chrono::seconds(10);  // of a window that has little
constexpr Duration kTrial = std::chrono::seconds(5);
constexpr int kTrialRounds = 30;
constexpr Duration kModelPause = std::chrono::seconds(60);

}  // namespace

Contest::Contest(const LawSettings& settings, const ContestTerms& terms, Time now, Duration round)
    : settings_(settings),
      terms_(terms),
      share_(terms.rate),
      last_step_(now),
      poor_since_(now),
      scant_since_(now),
      opened_(now),
      model_pause_(kModelPause),
      slow_start_(terms.newcomer),
      window_(std::max(terms.rate / packet_bytes_ * seconds(round), kLeastWindow)),
      event_at_(now) {
    plan_probe(now, round);
    if (terms.by_model) {
        begin_model(now, terms.rate, round);
        model_->skip_startup();
    }
}

ContestTerms Contest::terms() const {
    ContestTerms terms = terms_;
    terms.rate = share_;
    terms.newcomer = false;
    terms.by_model = model_.has_value();
    return terms;
}

double Contest::rate(Time now, Duration round) const {
    if (model_) return model_->rate().bytes_per_second();
    const double factor = probing(now) ? kProbe : sounding_ ? sounding_->factor(now) : 1;
    return factor * window_ * packet_bytes_ / seconds(round);
}

bool Contest::used() const {
    return window_ * packet_bytes_ <= (slow_start_ ? kStartUse : kAvoidanceUse) * delivered_;
}

std::optional<double> Contest::window() const {
    if (model_) return model_->window();
    return std::nullopt;
}

void Contest::step(Time now, const Delivery& delivery, double queue, Duration round) {
    const bool sounded = sounding_ && sounding_->met(delivery.sent_from, delivery.sent_to);
    if (!probing(now) && !sounded && !(model_ && model_->probing_rtt()))
        share_ += (delivery.delivered - share_) * (1 - std::exp(-seconds(now - last_step_)));
    terms_.best = std::max(terms_.best, share_);
    delivered_ = delivery.delivered * seconds(round);
    const double kept = std::exp(-seconds(now - last_step_) / (kLossMemory + 30 * seconds(round)));
    lost_ *= kept;
    passed_ *= kept;
    last_step_ = now;
    probe(now, queue, round);
    if (model_) return judge_model(now, round);
    sound(now, delivery, queue, round);
    const Duration patience = kPoorFor + kPoorRounds * round;
    if (share_ >= kPoor * terms_.best) poor_since_ = now;
    if (share_ >= kScant * terms_.best || share_ < kPoor * terms_.best) scant_since_ = now;
    if (now - poor_since_ > patience && now >= next_model_) {
        const bool nearly = share_ >= kNearlyPoor * kPoor * terms_.best;
        if (!nearly || !terms_.opens_again) return begin_model(now, share_, round);
        open_again(now);
    } else if (now - scant_since_ > patience && now - opened_ > kOpening) {
        open_again(now);
    }
}

void Contest::open_again(Time now) {
    slow_start_ = true;
    terms_.opens_again = false;
    opened_ = poor_since_ = scant_since_ = now;
}

// An empty queue passes on whatever comes, and says nothing of the path.
void Contest::sound(Time now, const Delivery& delivery, double queue, Duration round) {
    if (slow_start_ || terms_.sounded || probing(now) || queue < kEmpty) return;
    if (!sounding_) sounding_.emplace(now, delivery.width, round);
    sounding_->step(now, delivery, round);
    if (!sounding_->done()) return;
    terms_.best = std::max(terms_.best, kSounded * sounding_->capacity());
    terms_.sounded = true;
    sounding_.reset();
}

void Contest::begin_model(Time now, double rate, Duration round) {
    LawSettings settings = settings_;
    settings.initial = BitRate::from_bytes_per_second(rate);
    model_.emplace(settings);
    judged_at_ = now + kTrial + kTrialRounds * round;
}

void Contest::judge_model(Time now, Duration round) {
    if (now < judged_at_) return;
    if (share_ < kNearlyAll * terms_.best || lost_ > kListened * (lost_ + passed_)) return;
    model_.reset();
    slow_start_ = false;
    window_ = std::max(share_ / 2 / packet_bytes_ * seconds(round), kLeastWindow);
    rule_ = Cubic();
    event_at_ = poor_since_ = scant_since_ = now;
    next_model_ = now + model_pause_;
    model_pause_ *= 2;
    plan_probe(now, round);
}

void Contest::plan_probe(Time now, Duration round) {
    probe_from_ = now + terms_.stay;
    probe_to_ = probe_from_ + 2 * round;
    probe_least_ = kNone;
}

void Contest::probe(Time now, double queue, Duration round) {
    if (model_) {
        // It stands back by itself, at the same time as others of its kind.
        const bool back = model_->probing_rtt();
        if (back) probe_least_ = std::min(probe_least_, queue);
        if (back || probe_least_ == kNone) return;
        over_ = now >= probe_from_ && probe_least_ < kEmpty;
        probe_least_ = kNone;
        return;
    }
    if (now >= probe_from_ + round) probe_least_ = std::min(probe_least_, queue);
    if (now < probe_to_ + round) return;
    over_ = probe_least_ < kEmpty;
    plan_probe(now, round);
}

void Contest::on_ack(const AckSample& sample) {
    passed_ += static_cast<double>(sample.packets);
    if (model_) return model_->on_ack(sample);
    if (sample.passages.empty() || sample.passages.back().sent <= event_at_ || probing(sample.now))
        return;
    if (sounding_ && sounding_->met(sample.passages.front().sent, sample.passages.back().sent))
        return;
    if (!used()) return;
    const auto packets = static_cast<double>(sample.packets);
    if (slow_start_) {
        window_ += packets;
        return;
    }
    const WindowPath path{.now = sample.now,
                          .used = sample.now,
                          .rtt = sample.rtt + settings_.syn,
                          .min_rtt = sample.min_rtt + settings_.syn,
                          .syn = settings_.syn};
    window_ = std::max(window_, rule_.grown(path, window_, packets));
}

void Contest::on_loss(const LossSample& sample) {
    lost_ += static_cast<double>(sample.packets);
    if (model_ || sample.last_sent <= event_at_) return;
    if (sounding_ && sounding_->met(sample.first_sent, sample.last_sent)) return;
    event_at_ = sample.now;
    slow_start_ = false;
    window_ = std::max(rule_.reduced({}, window_), kLeastWindow);
}

void Contest::on_syn(const SynSample& sample) {
    packet_bytes_ = sample.packet_bytes;
    if (model_) model_->on_syn(sample);
}

}  // namespace lambda::sabul
