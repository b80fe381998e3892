#include "client/replicate/calendar.h"

#include "tests/support/catch.h"

namespace lambda::client::replicate {
namespace {

constexpr int kHour = 3600;
LocalTime at(int day, int hour, int minute = 0, int second = 0) {
    return {day, hour * kHour + minute * 60 + second};
}
enum { mon, tue, wed, thu, fri, sat, sun };

Windows windows(const std::vector<std::string>& spans) {
    auto parsed = Windows::parse(spans);
    INFO((parsed ? "" : parsed.error().message));
    REQUIRE(parsed.ok());
    return *parsed;
}

TEST_CASE("without windows it is always open") {
    CHECK(windows({}).open(at(wed, 12)));
}

TEST_CASE("a window ends before its end and belongs to the day on which it begins") {
    const Windows nights = windows({"mon-fri 20:00-06:00"});
    CHECK_FALSE(nights.open(at(mon, 5, 59, 59)));  // that night began on Sunday
    CHECK_FALSE(nights.open(at(mon, 19, 59, 59)));
    CHECK(nights.open(at(mon, 20)));
    CHECK(nights.open(at(tue, 5, 59, 59)));
    CHECK_FALSE(nights.open(at(tue, 6)));
    CHECK(nights.open(at(sat, 5)));
    CHECK_FALSE(nights.open(at(sat, 20)));
    CHECK_FALSE(nights.open(at(sun, 23)));
}

TEST_CASE("days go round the week, and stand alone or in lists") {
    const Windows weekend = windows({"sat,sun", "wed,fri-mon 12:00:30-24:00"});
    CHECK(weekend.open(at(sat, 0)));
    CHECK(weekend.open(at(sun, 23, 59, 59)));
    CHECK_FALSE(weekend.open(at(mon, 12, 0, 29)));
    CHECK(weekend.open(at(mon, 12, 0, 30)));
    CHECK(weekend.open(at(wed, 23, 59, 59)));
    CHECK_FALSE(weekend.open(at(tue, 13)));
}

TEST_CASE("what is no window is refused with its words") {
    for (const char* text : {"", "  ", "mon-", "monday", "08:00", "8:00-9:00", "08:00-25:00",
                             "08:60-09:00", "24:00-01:00", "08:00-08:00", "08:00-09:00 mon",
                             "mon 08:00-09:00 x", "08:00-09:00:00:00", ",mon", "mon,"}) {
        CAPTURE(text);
        const auto parsed = Windows::parse({text});
        REQUIRE_FALSE(parsed.ok());
        CHECK(parsed.error().fault == Fault::usage);
    }
}

TEST_CASE("a timetable gives the rate of the first entry that holds") {
    const auto parsed =
        Timetable::parse("sat,sun max, 08:00-18:00 200Mbit/s, mon,tue 18:00-08:00 1Gbit/s");
    REQUIRE(parsed.ok());
    CHECK(parsed->at(at(mon, 8)).bits_per_second == 200e6);
    CHECK(parsed->at(at(fri, 17, 59, 59)).bits_per_second == 200e6);
    CHECK(parsed->at(at(sat, 12)).bits_per_second == 0);
    CHECK(parsed->at(at(mon, 18)).bits_per_second == 1e9);
    CHECK(parsed->at(at(wed, 7)).bits_per_second == 1e9);  // since Tuesday
    CHECK(parsed->at(at(thu, 7)).bits_per_second == 0);
}

TEST_CASE("what is no timetable is refused") {
    for (const char* text : {"max", "08:00-18:00", "08:00-18:00 fast", "08:00-18:00 10", ",",
                             "08:00-18:00 1Mbit/s; 18:00-08:00 max", "08:00-18:00 -1Mbit/s"}) {
        CAPTURE(text);
        CHECK_FALSE(Timetable::parse(text).ok());
    }
    CHECK(Timetable::parse("").ok());
}

}  // namespace
}  // namespace lambda::client::replicate
