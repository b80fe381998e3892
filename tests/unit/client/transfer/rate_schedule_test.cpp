#include "client/transfer/rate_schedule.h"

#include <unistd.h>

#include "client/home/home.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

TEST_CASE("a rate, a timetable, or both limit") {
    config::ClientSettings settings;
    CHECK(RateSchedule(settings, "").limit(0).bits_per_second == 0);
    CHECK_FALSE(RateSchedule(settings, "").moves());
    settings.rate_limit = BitRate{5e6};
    CHECK(RateSchedule(settings, "").limit(0) == BitRate{5e6});
    CHECK_FALSE(RateSchedule(settings, "").moves());
    settings.rate_hours = *RateTimetable::parse("00:00-12:00 1Mbit/s, 12:00-18:00 9Mbit/s");
    const RateSchedule schedule(settings, "");
    CHECK(schedule.moves());
    CHECK(schedule.limit(0) == BitRate{1e6});
    CHECK(schedule.limit(13 * 60) == BitRate{5e6});
    CHECK(schedule.limit(19 * 60) == BitRate{5e6});
}

TEST_CASE("the rate file counts from when it is written, and a bad one is told once") {
    const Scratch scratch;
    const std::string file = scratch / "rate";
    config::ClientSettings settings;
    settings.rate_limit = BitRate{5e6};
    RateSchedule schedule(settings, file);
    CHECK(schedule.moves());
    REQUIRE_FALSE(schedule.look().ok());  // it is missing
    CHECK(schedule.look().ok());          // and that was told
    CHECK(schedule.limit(0) == BitRate{5e6});
    REQUIRE(write_output(file, "# by night\n\n00:00-12:00 1Mbit/s\n").ok());
    CHECK(schedule.look().ok());
    CHECK(schedule.limit(0) == BitRate{1e6});
    CHECK(schedule.limit(13 * 60).bits_per_second == 0);
    REQUIRE(write_output(file, "fast\n").ok());
    const auto bad = schedule.look();
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().fault == Fault::usage);
    CHECK(bad.error().path == file);
    CHECK(schedule.look().ok());
    CHECK(schedule.limit(0) == BitRate{1e6});
    REQUIRE(write_output(file, "").ok());
    CHECK_FALSE(schedule.look().ok());
    REQUIRE(write_output(file, "none").ok());
    CHECK(schedule.look().ok());
    CHECK(schedule.limit(0).bits_per_second == 0);
    ::unlink(file.c_str());
    CHECK_FALSE(schedule.look().ok());
    CHECK(schedule.limit(0).bits_per_second == 0);
}
