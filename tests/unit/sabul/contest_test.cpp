// A contest over a bottleneck where the other side takes what it likes.
#include "common/sabul/congestion/contest.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Duration kRtt = 20ms;
constexpr Duration kRound = 30ms;
constexpr double kBest = 100e6;  // bytes a second

class Path {
    Time now_{1h};

  public:
    Contest contest;

    explicit Path(const ContestTerms& terms) : contest(LawSettings{}, terms, now_, kRound) {}

    // For a time: what gets through of what is sent, at most `most`, and how high the queue stands
    // while we do not stand back.
    void run(Duration span, double most, double queue, double loss) {
        for (const Time end = now_ + span; now_ < end && !contest.over();) {
            now_ += 10ms;
            const double sent = std::min(contest.rate(now_, kRound),
                                         contest.window().value_or(1e12) / seconds(kRtt));
            const double through = std::min(sent * (1 - loss), most);
            // Who sends much less than he could stands back.
            const bool back = sent < 0.5 * usual_;
            usual_ += (sent - usual_) * (back ? 0 : 0.1);
            least_ = std::min(least_, sent / std::max(usual_, 1.0));
            const auto packets = static_cast<std::uint64_t>(through * 0.01 / 1440) + 1;
            if (loss > 0 && ++ticks_ % 10 == 0) {
                contest.on_loss(
                    {.now = now_,
                     .packets =
                         static_cast<std::uint64_t>(10 * static_cast<double>(packets) * loss) + 1,
                     .last_sent = now_,
                     .rtt = kRtt});
            }
            const Passage passage{now_ - kRtt / 2, now_.time_since_epoch()};
            contest.on_ack({.now = now_,
                            .packets = packets,
                            .bytes = packets * 1440,
                            .passages = std::span(&passage, 1),
                            .rtt = kRtt,
                            .latest_rtt = kRtt,
                            .min_rtt = kRtt});
            contest.on_syn({.now = now_, .elapsed = 10ms, .rtt = kRtt, .min_rtt = kRtt});
            contest.step(now_,
                         {.sent_from = now_ - 20ms,
                          .sent_to = now_,
                          .sent = sent,
                          .delivered = through,
                          .width = 20ms},
                         back ? queue_back : queue, kRound);
        }
    }
    double least_share() const { return least_; }
    double queue_back = 0.010;

  private:
    double usual_ = 0, least_ = 1;
    int ticks_ = 0;
};

const ContestTerms kTerms{.rate = 0.3 * kBest, .best = kBest, .newcomer = false, .sounded = true};

}  // namespace

TEST_CASE("contest: what the window once had counts as the best, too") {
    Path path({.rate = 0.01 * kBest, .best = 0.05 * kBest});
    path.run(6s, 0.6 * kBest, 0.010, 0);
    CHECK(path.contest.terms().best > 0.5 * kBest);
    path.run(8s, 0.05 * kBest, 0.010, 0.001);
    CHECK(path.contest.terms().by_model);
}

TEST_CASE("contest: a window that holds a share stays one") {
    Path path(kTerms);
    path.run(30s, 0.4 * kBest, 0.010, 0);
    CHECK_FALSE(path.contest.terms().by_model);
    CHECK_FALSE(path.contest.over());
    CHECK(path.least_share() < 0.3);  // it stood back to look
}

TEST_CASE("contest: a window that has little, if not too little, opens once more after a while") {
    Path path(kTerms);
    path.run(9s, 0.3 * kBest, 0.010, 0);
    CHECK(path.contest.terms().opens_again);
    path.run(3s, 0.3 * kBest, 0.010, 0);
    CHECK_FALSE(path.contest.terms().opens_again);
    CHECK_FALSE(path.contest.terms().by_model);

    Path enough(kTerms);
    enough.run(30s, 0.4 * kBest, 0.010, 0);
    CHECK(enough.contest.terms().opens_again);
}

TEST_CASE("contest: what the path carries is sounded while a queue stands, and once") {
    Path empty({.rate = 0.1 * kBest, .best = kBest});
    empty.run(9s, 0.4 * kBest, 0.001, 0.001);
    CHECK_FALSE(empty.contest.terms().sounded);
    Path full({.rate = 0.1 * kBest, .best = kBest});
    full.run(9s, 0.4 * kBest, 0.010, 0.001);
    CHECK(full.contest.terms().sounded);
    CHECK_FALSE(full.contest.terms().newcomer);
}

TEST_CASE("contest: a window that is not used does not grow") {
    Path path({.rate = 0.1 * kBest, .best = kBest, .newcomer = true, .sounded = true});
    path.run(9s, 0.4 * kBest, 0.010, 0);
    CHECK(path.contest.rate(Time{1h}, kRound) < 5 * 0.4 * kBest);
}

TEST_CASE("contest: a queue that empties when we stand back ends it") {
    Path path(kTerms);
    path.queue_back = 0.001;
    path.run(9s, 0.4 * kBest, 0.010, 0);
    CHECK_FALSE(path.contest.over());
    path.run(3s, 0.4 * kBest, 0.010, 0);
    CHECK(path.contest.over());
    CHECK(path.contest.terms().rate == Approx(0.4 * kBest).epsilon(0.1));
}

TEST_CASE("contest: a window that starves gives way to the model") {
    Path path(kTerms);
    path.run(3s, 0.1 * kBest, 0.010, 0.02);
    CHECK_FALSE(path.contest.terms().by_model);
    path.run(3s, 0.1 * kBest, 0.010, 0.02);
    CHECK(path.contest.terms().by_model);
}

TEST_CASE("contest: the model stays beside those who do not listen to loss") {
    Path path(
        {.rate = 0.5 * kBest, .best = kBest, .newcomer = false, .sounded = true, .by_model = true});
    path.run(30s, 0.9 * kBest, 0.010, 0.02);
    CHECK(path.contest.terms().by_model);
}

TEST_CASE("contest: the model gives way to the window where the others made room") {
    Path path(
        {.rate = 0.5 * kBest, .best = kBest, .newcomer = false, .sounded = true, .by_model = true});
    path.run(3s, 0.9 * kBest, 0.010, 0);
    CHECK(path.contest.terms().by_model);
    path.run(6s, 0.9 * kBest, 0.010, 0);
    CHECK_FALSE(path.contest.terms().by_model);
}
