// What a time of arrival comes to on our clock.
#include "common/io/clock_offset.h"

#include "tests/support/catch.h"

using namespace lambda;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST_CASE("a thread that is stopped between two clocks dates no arrival back") {
    const Time start{std::chrono::hours(1)};
    const Duration ahead = std::chrono::hours(24);
    io::ClockOffset offset;
    // Stopped at the first reading: arrivals are late by it, never early.
    offset.read(start, start + ahead, start + milliseconds(3));
    CHECK(offset.monotonic(start + ahead) >= start);
    offset.read(start, start + nanoseconds(30) + ahead, start + nanoseconds(60));
    const Duration error = offset.monotonic(start + ahead) - start;
    CHECK(error >= Duration{0});
    CHECK(error <= nanoseconds(60));
    // Stopped before, and behind, the reading of the other clock.
    offset.read(start, start + milliseconds(3) + ahead, start + milliseconds(3));
    offset.read(start, start + ahead, start + milliseconds(3));
    CHECK(offset.monotonic(start + ahead) - start == error);
    // The clock was set.
    offset.read(start, start + 2 * ahead, start);
    CHECK(offset.monotonic(start + 2 * ahead) == start);
}
