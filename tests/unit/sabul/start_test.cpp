#include "common/sabul/congestion/start.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Duration kRound = 110ms;
constexpr double kKnown = 100e6;  // bytes a second

// One start over a path that delivers what is sent, up to `carries`, and queues nothing unless
// told.
struct Path {
    explicit Path(double known, bool competes = true)
        : start({.initial = {}, .highest = {}, .known = BitRate{known * 8}, .competes = competes}) {
    }

    // A round later, by four ACKs: the rate that it is told.
    double round(double queue = 0) {
        for (int i = 0; i < 4 && !start.over(); ++i) {
            now += kRound / 4;
            sent.push_back(rate);
            const double left = sent[sent.size() > 4 ? sent.size() - 5 : 0];
            const double delivered = std::min(left, carries);
            rate = start.next({.now = now,
                               .rtt = kRound - 10ms,
                               .round = kRound,
                               .rate = rate,
                               .left = left,
                               .queue = queue,
                               .loss = 0,
                               .passed = Start::Passed{left, delivered, delivered, false}});
        }
        return rate;
    }
    // To its end, by a queue that stands.
    void end(double at) {
        carries = rate = at;
        sent.assign(5, at);
        while (!start.over()) round(0.05);
    }
    // Full at this rate, with a queue too short for a path that is not known.
    Duration time_to_end(double at) {
        carries = rate = at;
        sent.assign(5, at);
        const Time before = now;
        for (int i = 0; i < 4 && !start.over(); ++i) round(0.005);
        REQUIRE(start.over());
        return now - before;
    }
    bool takes_up_within(int rounds, bool calm = true) {
        for (int i = 0; i < 4 * rounds; ++i) {
            now += kRound / 4;
            if (start.take_up(now, kRound, rate, calm)) return true;
        }
        return false;
    }

    Start start;
    Time now = Time(1s);
    double rate = 10e6;
    double carries = 1e9;
    std::vector<double> sent;
};

}  // namespace

TEST_CASE("start: up to what the path is known for, and on in steps that double") {
    Path path(kKnown);
    double expected = 0.9 * kKnown;
    while (path.rate < 0.99 * expected) {
        path.round();
        REQUIRE(path.rate <= expected * 1.0001);
    }
    for (const double step : {1.05, 1.1, 1.2, 1.4, 1.8}) {
        expected *= step;
        const Time before = path.now;
        while (path.rate < 0.99 * expected) {
            REQUIRE(path.rate == Approx(expected / step));
            path.round();
        }
        CHECK(path.now - before <= 2 * kRound);
        CHECK_FALSE(path.start.over());
    }
}

TEST_CASE("start: of a path that is not known it goes up by its gain, for whatever it carries") {
    Path path(0);
    CHECK(path.round() == Approx(24e6));
    path.round();
    CHECK(path.round() > 100e6);
}

TEST_CASE(
    "start: a short queue ends it soon where a known path is full, after a round below that") {
    Path full(kKnown), below(kKnown);
    CHECK(full.time_to_end(0.9 * kKnown) <= kRound);
    CHECK(below.time_to_end(0.8 * kKnown) > kRound);
}

TEST_CASE("start: it is taken up once where it ended far below what the path is known for") {
    Path path(kKnown);
    path.end(0.5 * kKnown);
    CHECK_FALSE(path.takes_up_within(2));
    REQUIRE(path.takes_up_within(2));
    CHECK_FALSE(path.start.over());
    path.carries = 1e9;
    path.round();
    CHECK(path.rate == Approx(0.9 * kKnown).epsilon(0.06));
    path.end(0.5 * kKnown);
    CHECK_FALSE(path.takes_up_within(20));
}

TEST_CASE("start: it is not taken up on other paths, in a queue, later, or by who yields") {
    Path unknown(0), near(kKnown), queued(kKnown), later(kKnown), yielding(kKnown, false);
    for (Path* each : {&unknown, &queued, &later, &yielding}) each->end(0.5 * kKnown);
    near.end(0.85 * kKnown);
    CHECK_FALSE(unknown.takes_up_within(20));
    CHECK_FALSE(near.takes_up_within(20));
    CHECK_FALSE(yielding.takes_up_within(20));
    CHECK_FALSE(queued.takes_up_within(4, false));
    CHECK_FALSE(later.takes_up_within(11, false));
    CHECK_FALSE(later.takes_up_within(20));
}

TEST_CASE(
    "a start of which nothing is seen to get through grows no further than a few round trips "
    "would") {
    Start start({.initial = {}, .highest = {}, .known = {}, .competes = true});
    double rate = 1e5;
    for (int ack = 0; ack < 100; ++ack) {
        rate = start.next({.now = Time(1s) + ack * 1250us,
                           .rtt = 50us,
                           .round = 10ms,
                           .rate = rate,
                           .left = rate,
                           .queue = 0,
                           .loss = 0,
                           .passed = {}});
    }
    CHECK(rate > 5e5);
    CHECK(rate < 5e6);
}
