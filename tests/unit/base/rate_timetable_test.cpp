#include "common/base/rate_timetable.h"

#include "tests/support/catch.h"

using namespace lambda;

namespace {
double at(const RateTimetable& table, int hour, int minute) {
    return table.at(hour * 60 + minute).bits_per_second;
}
std::string refusal(const char* text) {
    const auto table = RateTimetable::parse(text);
    return table ? "accepted" : table.error().message;
}
}  // namespace

TEST_CASE("a timetable limits by the minute, over midnight too") {
    const auto table =
        RateTimetable::parse("08:00-18:00 200Mbit/s,18:00-22:30 max , 22:30-06:15 1Gbit/s");
    REQUIRE(table.ok());
    CHECK(table->lowest() == BitRate{200e6});
    CHECK(RateTimetable{}.lowest() == BitRate{0});
    CHECK(at(*table, 7, 59) == 0);  // in a gap
    CHECK(at(*table, 8, 0) == 200e6);
    CHECK(at(*table, 17, 59) == 200e6);
    CHECK(at(*table, 18, 0) == 0);
    CHECK(at(*table, 22, 30) == 1e9);
    CHECK(at(*table, 23, 59) == 1e9);
    CHECK(at(*table, 0, 0) == 1e9);
    CHECK(at(*table, 6, 14) == 1e9);
    CHECK(at(*table, 6, 15) == 0);
}

TEST_CASE("a virtual day through a timetable") {
    const auto table = RateTimetable::parse("08:00-18:00 200Mbit/s, 18:00-08:00 50Mbit/s");
    REQUIRE(table.ok());
    int changes = 0;
    double sum = 0;
    for (int minute = 1; minute <= RateTimetable::kMinutesOfDay; ++minute) {
        const BitRate limit = table->at(minute % RateTimetable::kMinutesOfDay);
        changes += limit == table->at(minute - 1) ? 0 : 1;
        sum += limit.bits_per_second * 60;
    }
    CHECK(changes == 2);
    CHECK(sum == (10 * 200e6 + 14 * 50e6) * 3600);
}

TEST_CASE("the whole day, and midnight by both of its names") {
    CHECK(at(*RateTimetable::parse("00:00-24:00 5Mbit/s"), 23, 59) == 5e6);
    CHECK(at(*RateTimetable::parse("12:00-00:00 5Mbit/s"), 23, 59) == 5e6);
    CHECK(at(*RateTimetable::parse("12:00-00:00 5Mbit/s"), 0, 0) == 0);
    CHECK(RateTimetable::parse("00:00-12:00 1Mbit/s, 12:00-24:00 none").ok());
}

TEST_CASE("a bad timetable is refused with the place") {
    CHECK(refusal("") == "entry 1 of the timetable, '': there is no time");
    CHECK(refusal("08:00-18:00 1Mbit/s,") == "entry 2 of the timetable, '': there is no time");
    CHECK(refusal("8:00-18:00 1Mbit/s").find("'8:00' is no time") != std::string::npos);
    CHECK(refusal("08:00-25:00 1Mbit/s").find("'25:00' is no time") != std::string::npos);
    CHECK(refusal("08:00-24:01 1Mbit/s").find("'24:01' is no time") != std::string::npos);
    CHECK(refusal("24:00-08:00 1Mbit/s").find("'24:00' is no time") != std::string::npos);
    CHECK(refusal("08:60-09:00 1Mbit/s").find("'08:60' is no time") != std::string::npos);
    CHECK(refusal("08:00-08:00 max").find("ends where it begins") != std::string::npos);
    CHECK(refusal("08:00-18:00").find("is not a rate") != std::string::npos);
    CHECK(refusal("08:00-18:00 fast").find("'fast' is not a rate") != std::string::npos);
    CHECK(refusal("08:00-18:00 0").find("a rate of nothing") != std::string::npos);
    CHECK(refusal("08:00-18:00 1Mbit/s, 17:59-19:00 max").find("entry 2") == 0);
    CHECK(refusal("18:00-08:00 1Mbit/s, 07:00-09:00 max").find("overlaps entry 1") !=
          std::string::npos);
    CHECK(refusal("07:00-09:00 max, 18:00-08:00 1Mbit/s").find("overlaps entry 1") !=
          std::string::npos);
    std::string many;
    for (int i = 0; i < 65; ++i) {
        char entry[48];
        std::snprintf(entry, sizeof entry, "%s%02d:%02d-%02d:%02d max", i == 0 ? "" : ",", i / 60,
                      i % 60, (i + 1) / 60, (i + 1) % 60);
        many += entry;
    }
    CHECK(refusal(many.c_str()).find("more than 64") != std::string::npos);
    CHECK_FALSE(RateTimetable::looks_like_one("200Mbit/s"));
    CHECK_FALSE(RateTimetable::looks_like_one("none"));
    CHECK(RateTimetable::looks_like_one("08:00-18:00 max"));
}
