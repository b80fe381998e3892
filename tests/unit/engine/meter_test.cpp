// Where an engine's time goes.
#include "common/engine/meter.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::engine;
using namespace std::chrono_literals;
using verdict::Figure;

namespace {

struct Hand final : ports::Clock {
    Time at = Time{} + 1h;
    Time now() override { return at; }
};

// A turn of `awake`, and sleep of `asleep` where `wanted` was asked for.
void turn(Meter& meter, Hand& clock, Duration awake, Duration wanted, Duration asleep,
          std::initializer_list<Figure> waits) {
    meter.begin_turn(clock.at);
    clock.at += awake;
    for (const Figure figure : waits) meter.waits_for(figure);
    meter.end_turn(clock.at + wanted);
    clock.at += asleep;
}

}  // namespace

TEST_CASE("nothing is counted before data flow, nor after the end") {
    Hand clock;
    Meter meter(clock);
    turn(meter, clock, 10ms, 10ms, 10ms, {Figure::pace});
    CHECK(meter.figures(clock.at)[Figure::busy] == 0);
    CHECK_FALSE(meter.figures(clock.at).known());
    meter.start(clock.at);
    turn(meter, clock, 10ms, 10ms, 10ms, {Figure::pace});
    meter.begin_turn(clock.at);
    meter.stop(clock.at);
    clock.at += 1h;
    turn(meter, clock, 10ms, 10ms, 10ms, {Figure::pace});
    const auto figures = meter.figures(clock.at);
    CHECK(figures[Figure::elapsed] == 20'000);
    CHECK(figures[Figure::busy] == 10'000);
    CHECK(figures[Figure::pace] == 10'000);
}

TEST_CASE("what several stripes wait for has equal parts") {
    Hand clock;
    Meter meter(clock);
    meter.start(clock.at);
    turn(meter, clock, 1ms, 8ms, 8ms, {Figure::pace, Figure::pace, Figure::window, Figure::source});
    meter.begin_turn(clock.at);
    const auto figures = meter.figures(clock.at);
    CHECK(figures[Figure::pace] == 4'000);
    CHECK(figures[Figure::window] == 2'000);
    CHECK(figures[Figure::source] == 2'000);
}

TEST_CASE("a thread that is woken late lacks the processor, or stands still") {
    Hand clock;
    Meter meter(clock);
    meter.start(clock.at);
    turn(meter, clock, 0ms, 10ms, 31ms, {Figure::pace});
    turn(meter, clock, 0ms, 10ms, 2010ms, {Figure::pace});
    turn(meter, clock, 700ms, 0ms, 0ms, {});
    meter.begin_turn(clock.at);
    const auto figures = meter.figures(clock.at);
    CHECK(figures[Figure::busy] == 20'000);  // a millisecond is a timer's
    CHECK(figures[Figure::stalled] == 2'700'000);
    CHECK(figures[Figure::pace] == 21'000);
}

TEST_CASE("a thread that is woken before its time is not late") {
    Hand clock;
    Meter meter(clock);
    meter.start(clock.at);
    turn(meter, clock, 0ms, 10s, 3s, {Figure::finish});
    meter.begin_turn(clock.at);
    CHECK(meter.figures(clock.at)[Figure::finish] == 3'000'000);
    CHECK(meter.figures(clock.at)[Figure::busy] == 0);
}

TEST_CASE("the most that a path carried is that of its best interval, and no bunch") {
    const Time start = Time{} + 1h;
    const auto carried = [](const CarriedMeter& meter) {
        verdict::Figures figures;
        meter.tell(figures);
        return figures[Figure::carried];
    };
    CarriedMeter meter;
    const BitRate allowed{8e9};
    meter.add(start, 0, 1ms, allowed);
    CHECK(carried(meter) == 0);
    meter.add(start + 99ms, 50'000'000, 1ms, allowed);  // too short to tell
    CHECK(carried(meter) == 0);
    meter.add(start + 100ms, 50'000'000, 1ms, allowed);
    CHECK(carried(meter) == 500'000'000);
    meter.add(start + 200ms, 60'000'000, 1ms, allowed);
    CHECK(carried(meter) == 500'000'000);
    meter.add(start + 300ms, 140'000'000, 200ms, allowed);  // not a round trip
    CHECK(carried(meter) == 500'000'000);
    meter.add(start + 400ms, 200'000'000, 200ms, allowed);
    CHECK(carried(meter) == 700'000'000);
    meter.add(start + 500ms, 700'000'000, 1ms, allowed);  // 5 GB/s
    CHECK(carried(meter) == 1'000'000'000);
}
