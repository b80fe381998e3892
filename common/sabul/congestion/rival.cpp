#include "common/sabul/congestion/rival.h"

#include <algorithm>

namespace lambda::sabul {
namespace {

constexpr double kForeign = 0.006;      // s
constexpr double kPoor = 0.25;          // of the highest rate ...
constexpr double kPoorRate = 10e6 / 8;  // ... or less than this, bytes a second
constexpr double kFade = 0.98;          // of the highest rate, a stretch
constexpr Duration kStretch = std::chrono::seconds(1);
// Where a hundred flows of this law begin at once: nobody has made room for anybody yet, and their
// starts leave a queue above kForeign for up to 9 s.
constexpr Duration kUnsettled = std::chrono::seconds(8);
constexpr Duration kStarts = std::chrono::seconds(12);

// BBR alone leaves no queue that stands: it asks for a quarter more in one of eight rounds, and
// empties what that leaves.
constexpr double kSurge = 0.02;  // s
constexpr int kSurgeRounds = 16;
constexpr Duration kSurges = std::chrono::seconds(8);

constexpr double kChallengePoor = 0.15;                  // of the highest rate
constexpr double kMostMore = 0.1;                        // of the highest rate
constexpr double kLeastPatience = 2, kMostPatience = 4;  // s
constexpr int kChallengeRounds = 10;
constexpr Duration kLeastChallenge = std::chrono::seconds(3);
constexpr double kGrown = 2;        // times the usual queue ...
constexpr double kGrownBy = 0.002;  // ... and so much more, s: nobody made room
constexpr double kMostly = 0.7;     // of the steps that are judged
constexpr double kForgive = 0.7;
constexpr double kUsual = 0.02;  // a step

constexpr Duration kSoon = std::chrono::seconds(10);
constexpr double kFell = 0.5;    // of the share that was held
constexpr double kRegain = 1.2;  // of it: what others took meanwhile they hold for rounds
constexpr Duration kLongestStay = std::chrono::seconds(80);

}  // namespace

bool Rival::watch(Time now, double rate, double queue, Duration round) {
    if (challenging()) return judge_challenge(now, queue, round);
    usual_queue_ += (queue - usual_queue_) * kUsual;
    best_ = std::max(best_, rate);
    if (fell_again(now, rate)) {
        terms_.stay = std::min(2 * terms_.stay, kLongestStay);
        if (terms_.by_model) terms_.rate *= kRegain;
        return true;
    }
    const bool stood = stands(now, queue, round), surged = surges(now, queue, round);
    if ((stood || surged) && (rate < kPoor * best_ || rate < kPoorRate)) {
        terms_ = {.rate = rate, .best = best_};
        return true;
    }
    if (rate >= kChallengePoor * best_) {
        poor_since_ = now;
        patience_ =
            from_seconds(std::uniform_real_distribution<>(kLeastPatience, kMostPatience)(random_));
    } else if (now >= first_step_ + kUnsettled && now - poor_since_ > patience_ + 10 * round) {
        begin_challenge(now, rate, round);
    }
    return false;
}

bool Rival::stands(Time now, double queue, Duration round) {
    least_ = std::min(least_, queue);
    if (now < stretch_end_) return false;
    const bool stood = std::min(least_, last_least_) > kForeign;
    if (stretch_end_ == Time{}) first_step_ = now;
    last_least_ = began_lately(now) ? 0 : least_;
    least_ = kNone;
    stretch_end_ = now + std::max<Duration>(kStretch, 4 * round);
    best_ *= kFade;
    return stood;
}

// Not one that stands, but again and again one that flows of this law would never make once they
// have settled.
bool Rival::surges(Time now, double queue, Duration round) {
    const bool on = surged_ != Time{} && now - surged_ <= kSurgeRounds * round;
    if (queue > kSurge) {
        if (!on || began_lately(now)) surging_since_ = now;
        surged_ = now;
    }
    return on && now - surging_since_ >= kSurges;
}

// The queue that our own start made, and those of others who began with us, may stand yet.
bool Rival::began_lately(Time now) const {
    return now < first_step_ + kStarts;
}

bool Rival::fell_again(Time now, double rate) const {
    return left_at_ != Time{} && now < left_at_ + kSoon && rate < kFell * terms_.rate;
}

void Rival::begin_challenge(Time now, double rate, Duration round) {
    challenge_rate_ = rate + kMostMore * best_;
    challenge_from_ = now;
    challenge_to_ = now + std::max<Duration>(kLeastChallenge, kChallengeRounds * round);
    answers_ = {};
}

// Judged by each third of it but the first sixth, as they arrive: who is to make room may have a
// longer round trip, and BBR, which empties the queue every ten seconds, measures anew what is left
// to it. By what the queue was for most of a third: BBR empties it now and then, and where many
// flows of this law meet, a surge may fill it for a moment.
bool Rival::judge_challenge(Time now, double queue, Duration round) {
    const Duration part = (challenge_to_ - challenge_from_) / answers_.size() + Duration(1);
    if (now >= challenge_from_ + round && now < challenge_to_ + round) {
        Answer& answer = answers_[static_cast<std::size_t>((now - round - challenge_from_) / part)];
        ++answer.all;
        answer.grown += queue >= std::max(kGrown * usual_queue_, usual_queue_ + kGrownBy);
        answer.foreign += queue >= kForeign;
    }
    if (now < challenge_to_ + round) return false;
    challenge_to_ = Time{};
    poor_since_ = now;
    const auto mostly = [&](int Answer::*what) {
        for (std::size_t at = 1; at + 1 < answers_.size(); ++at) {
            const Answer &one = answers_[at], &next = answers_[at + 1];
            if (one.*what + next.*what > kMostly * (one.all + next.all)) return true;
        }
        return false;
    };
    const bool grew = mostly(&Answer::grown), stood = mostly(&Answer::foreign);
    // Where it stood too high for flows of this law alone before, too, it need not have grown so
    // much; soon after the start that says nothing yet.
    const bool stands = stood && usual_queue_ >= kForeign && !began_lately(challenge_from_);
    if (!grew && !stood) best_ *= kForgive;  // ours may be a share like others'
    if (!grew && !stands) return false;
    terms_ = {.rate = challenge_rate_, .best = best_};
    return true;
}

void Rival::left(Time now, const ContestTerms& terms) {
    terms_ = terms;
    best_ = std::max(best_, terms.best);
    left_at_ = poor_since_ = now;
    surged_ = Time{};
    last_least_ = 0;
}

}  // namespace lambda::sabul
