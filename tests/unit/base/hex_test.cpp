#include "common/base/hex.h"

#include <array>

#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("bytes become hex digits and come back") {
    std::array<std::byte, 2> bytes{};
    REQUIRE(parse_hex("0aFf", bytes));
    CHECK(to_hex(bytes) == "0aff");
    CHECK(hex_of('\x80') == "80");
    for (const char* text : {"", "0af", "0aff0", "0ag0", "0a f", "-1ff"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_hex(text, bytes));
    }
}

TEST_CASE("what to_hex() writes is all hex") {
    CHECK(all_hex("0123456789abcdef"));
    CHECK_FALSE(all_hex("0A"));
    CHECK_FALSE(all_hex("0 "));
}
