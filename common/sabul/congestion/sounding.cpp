#include "common/sabul/congestion/sounding.h"

#include <algorithm>
#include <cmath>

#include "common/base/assert.h"

namespace lambda::sabul {
namespace {

// At all moments of whoever changes his rate by rounds, as BBR does each eight of the path's own.
constexpr double kApart = 2, kSpread = 2;  // rounds: the least, and up to so many more
constexpr double kGolden = 0.618034;       // its multiples fall evenly into any period
constexpr double kMostBehind = 10;

}  // namespace

Sounding::Sounding(Time now, Duration width, Duration round) {
    plan(now, width, round);
}

void Sounding::plan(Time now, Duration width, Duration round) {
    const double part = std::fmod(kGolden * (tries_ + 1), 1);
    from_ = now + from_seconds((kApart + kSpread * part) * seconds(round));
    to_ = from_ + 2 * width;
    then_ = 0;
    sum_before_ = 0;
    steps_before_ = 0;
}

void Sounding::step(Time now, const Delivery& delivery, Duration round) {
    LAMBDA_ASSERT(!done());
    if (delivery.limited || delivery.delivered <= 0) return;
    const double behind = std::min(delivery.sent / delivery.delivered, kMostBehind);
    if (!met(delivery.sent_from, delivery.sent_to)) {
        // The first comes while the queue is not yet what it will be.
        if (delivery.sent_from >= to_ && then_ > 0 && steps_before_ > 0 && tries_ > 0) {
            const double fell_behind = then_ - sum_before_ / steps_before_;
            if (more_ > 0) answers_[pulses_++] = more_ / std::max(fell_behind, 1 / kMost);
        }
        if (delivery.sent_from >= to_) {
            ++tries_;
            plan(now, delivery.width, round);
        }
        sum_before_ += behind;
        ++steps_before_;
        sent_before_ = delivery.sent;
    } else if (delivery.sent_from >= from_ && delivery.sent_to <= to_) {
        then_ = behind;
        more_ = std::max(0.0, delivery.sent - sent_before_);
    }
}

double Sounding::capacity() const {
    if (pulses_ < kPulses) return 0;
    auto answers = answers_;
    const auto middle = answers.begin() + kPulses / 2;
    std::nth_element(answers.begin(), middle, answers.end());
    return *middle;
}

}  // namespace lambda::sabul
