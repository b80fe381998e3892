// What stripes carried over time, in bounded memory.
#include "common/engine/series.h"

#include <array>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::engine;
using namespace std::chrono_literals;

TEST_CASE("a series that nobody wants is never due") {
    CHECK_FALSE(Series{}.due(Time{} + 1h));
}

TEST_CASE("points come once an interval, and stay few") {
    Series series(2, 10ms);
    std::size_t asked = 0;
    Time now{};
    for (; now < Time{} + 100s; now += 5ms) {
        if (!series.due(now)) continue;
        ++asked;
        const auto ms = static_cast<std::uint64_t>((now - Time{}) / 1ms);
        series.add(now, std::array<std::uint64_t, 2>{ms, 2 * ms});
        REQUIRE(series.points() <= Series::kMostPoints);
    }
    CHECK(asked < 5 * Series::kMostPoints);
    CHECK(series.points() >= Series::kMostPoints / 2);
    CHECK(series.seconds_at(0) == 0);
    CHECK(series.seconds_at(series.points() - 1) > 99);
    for (std::size_t i = 0; i < series.points(); ++i) {
        CHECK(series.total(i, 0) == Approx(series.seconds_at(i) * 1000));
        CHECK(series.total(i, 1) == 2 * series.total(i, 0));
        if (i > 0) CHECK(series.seconds_at(i) > series.seconds_at(i - 1));
    }
}
