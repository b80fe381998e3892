#include "common/sabul/congestion/start.h"

#include <algorithm>
#include <limits>

#include "common/sabul/congestion/target_delay.h"

namespace lambda::sabul {
namespace {

constexpr double kGain = 2.4;  // of what is delivered
// Who yields wholly lets TCP, which doubles, through its own start first: one that meets a queue
// there takes half a minute to fill a long path.
constexpr double kYieldingGain = 1.5;
// Times the rate of which the last was seen that got through: who leaves little, or sees ACKs in
// close succession, would grow by himself.
constexpr double kUnseen = 32;
// Once a queue is seen.
constexpr double kQueued = 4;  // target delays
constexpr double kQueuedGain = 1.05;
// It ends.
constexpr double kLoss = 0.15;
constexpr double kGrowth = 1.15;
constexpr int kFlatRounds = 3;
constexpr int kFullAcks = 2;
// What the path carried lately was read at its best, so that some of it is noise.
constexpr double kFamiliar = 0.9;
constexpr double kBeyond = 0.05;
constexpr double kTried = 0.99;
// A queue is believed for this part of a round where what is known was tried, else for a whole one.
constexpr int kSoonBelieved = 4;
// A host that stands still can end it far below what the path carries; growth from there takes
// seconds on a long path. Later it may be others who took the rest, and empty the queue at times.
constexpr double kFarBelow = 0.8;
constexpr int kCalmRounds = 3;
constexpr int kSoonRounds = 10;

}  // namespace

Start::Start(const LawSettings& settings)
    : competes_(settings.competes),
      gain_(settings.competes ? kGain : kYieldingGain),
      known_(settings.known.bytes_per_second()),
      may_take_up_(settings.competes) {
    begin();
}

void Start::begin() {
    familiar_ = kFamiliar * known_;
    beyond_ = kBeyond;
    seen_ = proven_ = best_round_ = 0;
    flat_rounds_ = full_acks_ = 0;
    round_end_ = Time{};
    queued_since_ = calm_since_ = kNever;
    ended_ = Time{};
    over_ = false;
}

void Start::again() {
    known_ = 0;
    begin();
}

void Start::hold(double rate) {
    seen_ = rate / kUnseen;
}

bool Start::take_up(Time now, Duration round, double rate, bool calm) {
    if (ended_ == Time{}) ended_ = now;
    may_take_up_ = may_take_up_ && now - ended_ < kSoonRounds * round;
    if (!may_take_up_ || rate >= kFarBelow * known_) return false;
    calm_since_ = calm ? std::min(calm_since_, now) : kNever;
    if (!calm || now - calm_since_ < kCalmRounds * round) return false;
    may_take_up_ = false;
    begin();
    return true;
}

double Start::next(const Sight& sight) {
    if (sight.passed || seen_ == 0) seen_ = sight.rate;
    const double grown = std::min({gain_ * sight.left, bound(), kUnseen * seen_});
    const double rate = std::max(sight.rate, grown);
    if (!sight.passed) return rate;
    const Passed& passed = *sight.passed;
    const double delivered = std::max({passed.delivered, passed.latest, proven_});
    // Little is tried beyond a known path; a host that stands still hides what it carries.
    if (familiar_ > 0) proven_ = std::max(proven_, passed.delivered);
    // A queue tells of the path's end a round trip late, and all that leaves meanwhile fills it.
    // Till it stands for sure no more leaves than gets through.
    const bool queues = sight.queue > kQueued * target_delay(delivered);
    double next = 0;
    if (queues) {
        next = passed.limited ? sight.rate : std::min(sight.rate, kQueuedGain * delivered);
        queued_since_ = std::min(queued_since_, sight.now);
    } else {
        next = std::max(sight.rate, std::min(rate, gain_ * delivered));
        queued_since_ = kNever;
        go_beyond(passed);
    }
    const double few = competes_ ? seconds(sight.rtt) / 8 : 0;
    const bool tried = passed.left >= kTried * kFamiliar * known_;
    const Duration doubt = tried ? sight.round / kSoonBelieved : sight.round;
    const bool stands = sight.queue > std::max(few, 2 * target_delay(passed.delivered)) ||
                        (familiar_ > 0 && queues && sight.now - queued_since_ > doubt);
    full_acks_ = stands ? full_acks_ + 1 : 0;
    end_round(sight, delivered);
    over_ = full_acks_ >= kFullAcks || sight.loss > kLoss || flat_rounds_ >= kFlatRounds;
    return over_ ? delivered : next;
}

void Start::end_round(const Sight& sight, double delivered) {
    if (round_end_ == Time{}) round_end_ = sight.now + sight.round;  // two packets may come close
    if (sight.now < round_end_) return;
    const bool grows = delivered >= kGrowth * best_round_;
    const bool held = sight.passed->limited || sight.rate >= bound();
    flat_rounds_ = grows || held ? 0 : flat_rounds_ + 1;
    best_round_ = std::max(best_round_, delivered);
    round_end_ = sight.now + sight.round;
}

// Up to what the path carried lately as fast as any start; from there on in steps that double, so
// that what is too much of it is little.
double Start::bound() const {
    return familiar_ > 0 ? familiar_ : std::numeric_limits<double>::infinity();
}

void Start::go_beyond(const Passed& passed) {
    if (familiar_ == 0 || passed.left < kTried * familiar_) return;
    familiar_ = beyond_ < 1 ? familiar_ * (1 + beyond_) : 0;
    beyond_ *= 2;
}

}  // namespace lambda::sabul
