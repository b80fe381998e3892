#include "config/option_values.h"

#include <vector>

#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("an option with '=' and nothing behind it is refused") {
    const auto check = [](std::vector<const char*> words) { return config::check_values(words); };
    const auto checked = check({"put", "--receipt=", "a", "h:"});
    REQUIRE_FALSE(checked.ok());
    CHECK(checked.error().fault == Fault::usage);
    CHECK_THAT(checked.error().message, Catch::Contains("--receipt="));
    CHECK(check({"put", "a=", "-=", "--exclude==", "--exclude", "=", "h:"}).ok());
    CHECK(check({"put", "h:", "--", "--receipt="}).ok());
    CHECK(check({}).ok());
}

TEST_CASE("a number has digits alone, and 64 bits hold it") {
    CHECK(config::wrong_with_number("0").empty());
    CHECK(config::wrong_with_number("18446744073709551615").empty());
    for (const char* wrong : {"-1", "18446744073709551616", "", "1.5", "0x1", " 1", "1e3"}) {
        CAPTURE(wrong);
        CHECK_FALSE(config::wrong_with_number(wrong).empty());
    }
}
