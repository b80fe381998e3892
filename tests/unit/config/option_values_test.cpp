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
