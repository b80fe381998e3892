// What a time of arrival comes to on our clock.
#include "common/io/net/clock_offset.h"

#include "tests/support/catch.h"

using namespace lambda;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr Time kStart{std::chrono::hours(1)};
constexpr Duration kAhead = std::chrono::hours(24);

// A socket that is read by a clock that is `ahead`.
void read(io::ClockOffset& offset, Time at, Duration ahead) {
    offset.read(at - nanoseconds(60), at - nanoseconds(30) + ahead, at);
}

}  // namespace

TEST_CASE("a thread that is stopped between two clocks dates no arrival back") {
    io::ClockOffset offset;
    // Stopped at the first reading: arrivals are late by it, never early.
    offset.read(kStart - milliseconds(3), kStart - milliseconds(3) + kAhead, kStart);
    CHECK(offset.arrival(kStart - milliseconds(1) + kAhead) == kStart);
    io::ClockOffset quick;
    read(quick, kStart, kAhead);
    // Stopped before, and behind, the reading of the other clock.
    Time at = kStart;
    for (const Duration behind : {milliseconds(0), milliseconds(3)}) {
        at += milliseconds(10);
        quick.read(at - milliseconds(3), at - behind + kAhead, at);
        const Duration error =
            quick.arrival(at - milliseconds(2) + kAhead) - (at - milliseconds(2));
        CHECK(error >= Duration{0});
        CHECK(error <= nanoseconds(60));
    }
}

TEST_CASE("what came before the clock was set is not dated back") {
    const Duration step = GENERATE(Duration{milliseconds(5)}, Duration{std::chrono::seconds(30)},
                                   Duration{-std::chrono::seconds(30)});
    io::ClockOffset offset;
    read(offset, kStart, kAhead);
    CHECK(offset.arrival(kStart - milliseconds(4) + kAhead) >= kStart - milliseconds(4));
    // Set at 8 ms; read at 10 ms and, what was left then, at 11.
    for (const Duration read_at : {milliseconds(10), milliseconds(11)}) {
        const Time at = kStart + read_at;
        read(offset, at, kAhead + step);
        for (const Duration came : {milliseconds(7), milliseconds(9)}) {
            const Duration ahead = came < milliseconds(8) ? kAhead : kAhead + step;
            const Time arrived = offset.arrival(kStart + came + ahead);
            CHECK(arrived >= kStart + came);
            CHECK(arrived <= at);
        }
    }
    const Time later = kStart + milliseconds(20);
    read(offset, later, kAhead + step);
    const Duration error =
        offset.arrival(later - milliseconds(5) + kAhead + step) - (later - milliseconds(5));
    CHECK(error >= Duration{0});
    CHECK(error <= nanoseconds(60));
}

TEST_CASE("a clock that is set back where none is read quickly") {
    io::ClockOffset offset;
    read(offset, kStart, kAhead);
    REQUIRE(offset.arrival(kStart - milliseconds(2) + kAhead) < kStart);
    const Time at = kStart + milliseconds(10);
    const Duration behind = kAhead - std::chrono::seconds(30);
    offset.read(at - milliseconds(1), at + behind, at);
    CHECK(offset.arrival(at - milliseconds(2) + behind) == at);
}
