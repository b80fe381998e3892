#include "common/sabul/congestion/rival.h"

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
    bool starve_on() {
        for (int i = 0; i < 6000 && !rival.challenging(); ++i) step(kLittle, kUsual);
        return rival.challenging();
    }
    // While it challenges the queue is so. What came of it.
    bool answer(double queue) {
        bool found = false;
        while (rival.challenging()) {
            most_ = std::max(most_, rival.challenge(now_));
            found = step(kLittle, queue);
        }
        return found;
    }
    Time now() const { return now_; }
    double most() const { return most_; }

  private:
    Time now_{1h};
    double most_ = 0;
};

}  // namespace

TEST_CASE("rival: a queue must stand for two seconds, once what starts leave must be gone") {
    constexpr double kPoor = 0.2 * kBest;
    Watched watched;
    watched.step(kBest, 0.02);
    bool found = false;
    for (int i = 0; i < 850; ++i) found = found || watched.step(kPoor, 0.02);
    CHECK_FALSE(found);
    for (int i = 0; i < 200; ++i) found = found || watched.step(kPoor, 0.02);
    CHECK(found);

    Watched among_many;
    among_many.step(kBest, 0.02);
    found = false;
    for (int i = 0; i < 700; ++i) found = found || among_many.step(kPoor, 0.02);
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
    constexpr double kHigh = 0.0056;
    // Of many that start at once the queue is as high for some seconds.
    for (const bool soon : {true, false}) {
        for (const bool grows : {true, false}) {
            CAPTURE(soon, grows);
            Watched watched;
            for (int i = 0; i < (soon ? 1 : 900); ++i) watched.step(kBest, kHigh);
            for (int i = 0; i < 6000 && !watched.rival.challenging(); ++i)
                watched.step(kLittle, kHigh);
            REQUIRE(watched.rival.challenging());
            CHECK(watched.answer(grows ? 0.008 : kHigh) == (grows && !soon));
        }
    }
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
    for (int i = 0; i < 1100 && !found; ++i) found = watched.step(0.2 * kBest, 0.010);
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
}

TEST_CASE("rival: long after a contest a smaller share is no rival's") {
    Watched watched;
    const ContestTerms left{.rate = kBest / 2, .best = kBest};
    watched.step(kBest, kUsual);
    watched.rival.left(watched.now(), left);
    for (int i = 0; i < 1200; ++i) REQUIRE_FALSE(watched.step(0.8 * left.rate, kUsual));
    CHECK_FALSE(watched.step(0.4 * left.rate, kUsual));
}
