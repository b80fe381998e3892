#include "common/sabul/congestion/sounding.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

// Not in step with who changes his rate by rounds, as BBR does each eight.
constexpr double kApart = 2.7;  // rounds
constexpr double kMostBehind = 10;

}  // namespace

Sounding::Sounding(Time now, Duration width, Duration round) {
    plan(now, width, round);
}

void Sounding::plan(Time now, Duration width, Duration round) {
    from_ = now + from_seconds(kApart * seconds(round));
    to_ = from_ + 2 * width;
    then_ = 0;
}

void Sounding::step(Time now, const Delivery& delivery, Duration round) {
    if (delivery.limited || delivery.delivered <= 0) return;
    const double behind = std::min(delivery.sent / delivery.delivered, kMostBehind);
    if (!met(delivery.sent_from, delivery.sent_to)) {
        if (delivery.sent_from >= to_ && then_ > 0 && sent_before_ > 0) {
            sum_more_ += more_;
            sum_behind_ += then_ - before_;
            ++pulses_;
        }
        if (delivery.sent_from >= to_) {
            ++tries_;
            plan(now, delivery.width, round);
        }
        before_ = behind;
        sent_before_ = delivery.sent;
    } else if (delivery.sent_from >= from_ && delivery.sent_to <= to_) {
        then_ = behind;
        more_ = std::max(0.0, delivery.sent - sent_before_);
    }
}

double Sounding::capacity() const {
    if (pulses_ < kPulses) return 0;
    return sum_more_ / std::max(sum_behind_, kPulses / kMost);
}

}  // namespace lambda::sabul
