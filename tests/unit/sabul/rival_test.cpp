#include "common/sabul/congestion/rival.h"

#include <functional>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Duration kRound = 30ms;
constexpr double kBest = 50e6, kLittle = 4e6;  // bytes a second
constexpr double kUsual = 0.001;               // s

class Watched {
  public:
    Rival rival{7};

    bool step(double rate, double queue) {
        now_ += 10ms;
        return rival.watch(now_, rate, queue, kRound);
    }
    // Had much, has little: until it challenges, or for a minute.
    bool starve() {
        step(kBest, kUsual);
        return starve_on();
    }
    bool starve_on(double queue = kUsual) {
        for (int i = 0; i < 6000 && !rival.challenging(); ++i) step(kLittle, queue);
        return rival.challenging();
    }
    // While it challenges the queue is so, by the step. What came of it.
    bool answer(const std::function<double(int)>& queue) {
        bool found = false;
        for (int i = 0; rival.challenging(); ++i) {
            most_ = std::max(most_, rival.challenge(now_));
            found = step(kLittle, queue(i));
        }
        return found;
    }
    bool answer(double queue) {
        return answer([queue](int) { return queue; });
    }
    Duration since_start() const { return now_ - kBegan; }
    Time now() const { return now_; }
    double most() const { return most_; }

  private:
    static constexpr Time kBegan{1h};
    Time now_ = kBegan;
    double most_ = 0;
};

}  // namespace

TEST_CASE("rival: a queue must stand for two seconds, once what starts leave must be gone") {
    constexpr double kPoor = 0.17 * kBest;
    Watched watched;
    watched.step(kBest, 0.02);
    bool found = false;
    for (int i = 0; i < 1250; ++i) found = found || watched.step(kPoor, 0.02);
    CHECK_FALSE(found);
    for (int i = 0; i < 200; ++i) found = found || watched.step(kPoor, 0.02);
    CHECK(found);

    Watched among_many;
    among_many.step(kBest, 0.02);
    found = false;
    for (int i = 0; i < 1100; ++i) found = found || among_many.step(kPoor, 0.02);
    for (int i = 0; i < 600; ++i) found = found || among_many.step(kPoor, kUsual);
    CHECK_FALSE(found);
}

TEST_CASE("rival: who makes no room in a challenge is one") {
    Watched watched;
    REQUIRE(watched.starve());
    CHECK(watched.answer(0.004));
    CHECK(watched.most() > 1.5 * kLittle);
    CHECK(watched.most() <= kLittle + 0.11 * kBest);
    CHECK(watched.rival.terms().rate == Approx(watched.most()));
    CHECK(watched.rival.terms().newcomer);
}

TEST_CASE("rival: a queue too high for flows of this law alone need not double in a challenge") {
    constexpr double kHigh = 0.0065;
    // Of many that start at once the queue is as high for some seconds.
    for (const bool soon : {true, false}) {
        for (const bool stays : {true, false}) {
            CAPTURE(soon, stays);
            Watched watched;
            for (int i = 0; i < (soon ? 1 : 1300); ++i) watched.step(kBest, kHigh);
            REQUIRE(watched.starve_on(kHigh));
            CHECK(watched.answer(stays ? kHigh : kUsual) == (stays && !soon));
        }
    }
}

TEST_CASE("rival: what the queue is for most of a challenge counts") {
    Watched surge;
    REQUIRE(surge.starve());
    CHECK_FALSE(surge.answer([](int step) { return step % 10 < 6 ? 0.02 : kUsual; }));
    Watched emptied_by_bbr;
    REQUIRE(emptied_by_bbr.starve());
    CHECK(emptied_by_bbr.answer([](int step) { return step % 10 < 8 ? 0.02 : 0.0; }));
}

TEST_CASE("rival: a challenge's first half second proves nothing, any second of what follows may") {
    for (const int from : {0, 50, 100, 150, 200}) {
        CAPTURE(from);
        Watched watched;
        REQUIRE(watched.starve());
        CHECK(watched.answer([&](int step) {
            return step >= from && step < from + 100 ? 0.02 : kUsual;
        }) == (from > 0));
    }
}

TEST_CASE("rival: a queue that is too high only in a challenge, but not grown, proves nothing") {
    constexpr double kUnclear = 0.004;
    Watched watched;
    watched.step(kBest, kUnclear);
    for (int challenges = 0; challenges < 4; ++challenges) {
        REQUIRE(watched.starve_on(kUnclear));
        REQUIRE_FALSE(watched.answer(0.007));
    }
}

TEST_CASE("rival: a queue that surges again and again is one's, though it never stands") {
    constexpr double kNewcomers = 1e6;  // bytes a second, of one that never had more
    // A queue of `high` seconds once in so many rounds; when it is found.
    const auto found_after = [](Watched& watched, double high, int rounds) {
        const Duration before = watched.since_start();
        for (int i = 0; i < 3000; ++i) {
            if (watched.step(kNewcomers, i % (3 * rounds) == 0 ? high : kUsual))
                return watched.since_start() - before;
        }
        return Duration::max();
    };
    Watched bbr, less, rarely;
    const Duration first = found_after(bbr, 0.025, 8);
    CHECK(first > 19s);
    CHECK(first < 21s);
    bbr.rival.left(bbr.now(), {.rate = kNewcomers, .best = kNewcomers});
    const Duration again = found_after(bbr, 0.025, 8);
    CHECK(again >= 8s);
    CHECK(again < 9s);
    CHECK(found_after(less, 0.018, 8) == Duration::max());
    CHECK(found_after(rarely, 0.025, 17) == Duration::max());
}

TEST_CASE("rival: nobody is challenged while all that began with us settle") {
    Watched watched;
    REQUIRE(watched.starve());
    CHECK(watched.since_start() >= 8s);
}

TEST_CASE("rival: flows that make room are none") {
    Watched watched;
    REQUIRE(watched.starve());
    CHECK_FALSE(watched.answer(1.5 * kUsual));
}

TEST_CASE("rival: a share like others' is challenged a few times, not for ever") {
    Watched watched;
    REQUIRE(watched.starve());
    int challenges = 0;
    do {
        ++challenges;
        REQUIRE(challenges < 20);
        watched.answer(kUsual);
    } while (watched.starve_on());
    CHECK(challenges >= 2);
    CHECK(challenges <= 5);
}

TEST_CASE("rival: a fair share is never challenged") {
    Watched watched;
    for (int i = 0; i < 6000; ++i) {
        watched.step(i < 10 ? kBest : kBest / 4, kUsual);
        REQUIRE_FALSE(watched.rival.challenging());
    }
}

TEST_CASE("rival: a queue that stands high for seconds while we are poor is one's") {
    Watched watched;
    watched.step(kBest, kUsual);
    bool found = false;
    for (int i = 0; i < 1500 && !found; ++i) found = watched.step(0.17 * kBest, 0.010);
    CHECK(found);
    CHECK(watched.rival.terms().newcomer);
}

TEST_CASE(
    "rival: who takes our share again after a contest is found at once, and stayed with for "
    "longer") {
    Watched watched;
    const ContestTerms left{.rate = kBest / 2, .best = kBest, .newcomer = false, .by_model = true};
    watched.step(kBest, kUsual);
    watched.rival.left(watched.now(), left);
    CHECK_FALSE(watched.step(0.8 * left.rate, kUsual));
    CHECK(watched.step(0.4 * left.rate, kUsual));
    CHECK(watched.rival.terms().by_model);
    CHECK(watched.rival.terms().stay == 2 * left.stay);
    CHECK(watched.rival.terms().rate == Approx(1.2 * left.rate));
}

TEST_CASE("rival: long after a contest a smaller share is no rival's") {
    Watched watched;
    const ContestTerms left{.rate = kBest / 2, .best = kBest};
    watched.step(kBest, kUsual);
    watched.rival.left(watched.now(), left);
    for (int i = 0; i < 1200; ++i) REQUIRE_FALSE(watched.step(0.8 * left.rate, kUsual));
    CHECK_FALSE(watched.step(0.4 * left.rate, kUsual));
}
