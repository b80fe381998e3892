#include "common/sabul/congestion/rival.h"

#include "tests/support/catch.h"

namespace lambda::sabul {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRound = 30ms;
constexpr double kBest = 50e6, kPoorRate = 4e6;  // bytes a second

// Had much, has little: watched until it challenges, or for a minute.
class Watched {
  public:
    Rival rival{7};

    void prosper() { step(kBest, 1ms); }
    void starve() {
        for (int i = 0; i < 6000 && !rival.challenging(); ++i) step(kPoorRate, 1ms);
    }
    // While it challenges, the queue is `queue` and `share` of what it sends gets through.
    void answer(double queue, double share) {
        while (rival.challenging()) {
            const double sent = rival.challenge(now_);
            most_ = std::max(most_, sent);
            step(kPoorRate, from_seconds(queue), share * (sent > 0 ? sent : kPoorRate));
        }
    }
    double most() const { return most_; }

  private:
    void step(double rate, Duration queue, double delivered = 0) {
        now_ += 10ms;
        rival.watch(now_, rate, delivered, seconds(queue), kRound);
    }
    Time now_{1h};
    double most_ = 0;
};

}  // namespace

TEST_CASE("rival: who makes no room is one") {
    Watched watched;
    watched.prosper();
    watched.starve();
    REQUIRE(watched.rival.challenging());
    watched.answer(0.004, 1);
    CHECK(watched.rival.present());
    CHECK(watched.most() > 1.5 * kPoorRate);
    CHECK(watched.most() <= kPoorRate + 0.11 * kBest);
    CHECK(watched.rival.window() == Approx(watched.most() / 1440 * 0.03).epsilon(0.01));
}

TEST_CASE("rival: flows that make room are none") {
    Watched watched;
    watched.prosper();
    watched.starve();
    watched.answer(0.0011, 1);
    CHECK_FALSE(watched.rival.present());
}

TEST_CASE("rival: a path that carries no more is none") {
    Watched watched;
    watched.prosper();
    watched.starve();
    watched.answer(0.2, 0.25);
    CHECK_FALSE(watched.rival.present());
}

TEST_CASE("rival: a share like others' is challenged a few times, not for ever") {
    Watched watched;
    watched.prosper();
    int challenges = 0;
    for (watched.starve(); watched.rival.challenging(); watched.starve()) {
        ++challenges;
        REQUIRE(challenges < 20);
        watched.answer(0.001, 1);
    }
    CHECK(challenges >= 2);
    CHECK(challenges <= 4);
}

}  // namespace lambda::sabul
