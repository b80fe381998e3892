#include "common/base/units.h"

#include <limits>
#include <string_view>

#include "tests/support/catch.h"

using namespace lambda;
using namespace std::string_view_literals;

TEST_CASE("sizes") {
    CHECK(*parse_size("0") == 0);
    CHECK(*parse_size("4096") == 4096);
    CHECK(*parse_size("12B") == 12);
    CHECK(*parse_size("64MiB") == 64 * MiB);
    CHECK(*parse_size("5GB") == 5'000'000'000);
    CHECK(*parse_size("1.5KiB") == 1536);
    CHECK(*parse_size("2TiB") == 2 * 1024 * GiB);
}

TEST_CASE("rates") {
    CHECK(parse_rate("800Mbit/s")->bits_per_second == 800e6);
    CHECK(parse_rate("2.5Gbit/s")->bits_per_second == 2.5e9);
    CHECK(parse_rate("1Tbit/s")->bits_per_second == 1e12);
    CHECK(parse_rate("1MB/s")->bits_per_second == 8e6);
    CHECK(parse_rate("1000")->bits_per_second == 1000);
    CHECK(BitRate{8e9}.time_for(1e9) == std::chrono::seconds(1));
    CHECK(BitRate::from_bytes_per_second(125e6).bits_per_second == 1e9);
}

TEST_CASE("durations") {
    CHECK(*parse_duration("10ms") == std::chrono::milliseconds(10));
    CHECK(*parse_duration("1.5s") == std::chrono::milliseconds(1500));
    CHECK(*parse_duration("15min") == std::chrono::minutes(15));
    CHECK(*parse_duration("250us") == std::chrono::microseconds(250));
    CHECK(*parse_duration("2h") == std::chrono::hours(2));
}

TEST_CASE("what is no quantity is refused, with what may stand there") {
    const auto text = GENERATE(""sv, "MiB"sv, "-1"sv, "1 MiB"sv, "1mib"sv, "1MiBs"sv, "nan"sv,
                               "inf"sv, "0x10"sv, "1e400"sv, "1,5"sv, "10MiB\0"sv);
    CAPTURE(text);
    CHECK_FALSE(parse_size(text).ok());
    CHECK_FALSE(parse_rate(text).ok());
    CHECK_FALSE(parse_duration(text).ok());
    CHECK(parse_size(text).error().fault == Fault::usage);
    CHECK_THAT(parse_size(text).error().remedy, Catch::Contains("KiB, MiB"));
}

TEST_CASE("a unit of another quantity is refused") {
    CHECK_FALSE(parse_size("5s").ok());
    CHECK_FALSE(parse_rate("5MiB").ok());
    CHECK_FALSE(parse_duration("5").ok());
    CHECK_FALSE(parse_duration("5MB").ok());
}

TEST_CASE("more than 63 bits are refused") {
    CHECK_FALSE(parse_size("10000000TB").ok());
    CHECK_FALSE(parse_size("1e19").ok());
    CHECK_FALSE(parse_duration("3000000h").ok());
}

TEST_CASE("seconds that no duration counts are as long as one may be") {
    const Time now{std::chrono::hours(24 * 365 * 100)};
    for (const double much :
         {1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        CHECK(now + from_seconds(much) > now + std::chrono::hours(24 * 365 * 100));
    CHECK(from_seconds(-1e300) == -from_seconds(1e300));
    CHECK(from_seconds(-1.5) == std::chrono::milliseconds(-1500));
    CHECK(BitRate{1e-9}.time_for(1e9) == from_seconds(1e300));
    CHECK(BitRate{0}.time_for(1) == from_seconds(1e300));
}

TEST_CASE("quantities as people read them") {
    CHECK(format_size(0) == "0 B");
    CHECK(format_size(1023) == "1023 B");
    CHECK(format_size(GiB + GiB / 2) == "1.50 GiB");
    CHECK(format_rate(BitRate{823.4e6}) == "823.40 Mbit/s");
    CHECK(format_rate(BitRate{0}) == "0 bit/s");
    CHECK(format_duration(std::chrono::microseconds(12300)) == "12.3 ms");
    CHECK(format_duration(std::chrono::seconds(3661)) == "1:01:01");
}
