#include "common/session/facts.h"

#include <array>
#include <string>

#include "common/base/hex.h"
#include "tests/support/catch.h"

namespace lambda::session {

TEST_CASE("facts end at the first blank and the rest is raw") {
    const Result<ParsedFacts> parsed = Facts::parse("Size=12;x.y=a=b;  a name; with=facts;");
    REQUIRE(parsed.ok());
    CHECK(parsed->facts.text() == "size=12;x.y=a=b;");
    CHECK(parsed->rest == " a name; with=facts;");
}

TEST_CASE("no blank means no rest, and an empty rest is one") {
    CHECK_FALSE(Facts::parse("a=1;")->rest.has_value());
    CHECK(Facts::parse("a=1; ")->rest == "");
    CHECK(Facts::parse("")->facts.size() == 0);
    CHECK(*Facts::parse("a=;")->facts.find("a") == "");
}

TEST_CASE("malformed facts are refused") {
    for (const std::string text : {"a", "a=1", "a;", "=1;", ";", "a=1;;", "a=1;b", "a=1;A=2;",
                                   "a b=1;", "a=1\t;", "\xff=1;", "a=\x7f;", "a==;b=1;a=2;"}) {
        CAPTURE(text);
        const Result<ParsedFacts> parsed = Facts::parse(text);
        REQUIRE_FALSE(parsed.ok());
        CHECK(parsed.error().fault == Fault::usage);
    }
    CHECK_FALSE(Facts::parse(std::string("a\0=1;", 5)).ok());
    CHECK(Facts::parse("a=1;A=2;").error().message.find("'a'") != std::string::npos);
}

TEST_CASE("the number of facts is bounded") {
    std::string text;
    for (std::size_t i = 0; i < kMaxFacts; ++i) text += "f" + std::to_string(i) + "=;";
    CHECK(Facts::parse(text).ok());
    CHECK_FALSE(Facts::parse(text + "one.more=;").ok());
}

TEST_CASE("a reader remembers the first bad fact by name") {
    const Result<ParsedFacts> parsed = Facts::parse("n=11;m=x;h=00fF;");
    REQUIRE(parsed.ok());
    FactReader reader(parsed->facts);
    CHECK(reader.number("n", 0, 11) == 11);
    std::array<std::byte, 2> hex{};
    reader.hex("h", hex);
    CHECK(to_hex(hex) == "00ff");
    CHECK_FALSE(reader.error());
    CHECK(reader.number("n", 12, 20) == 12);
    reader.number("m", 0, 1);
    REQUIRE(reader.error());
    CHECK(reader.error()->message.find("'n'") != std::string::npos);
}

TEST_CASE("numbers are strict") {
    CHECK(parse_number("18446744073709551615") == UINT64_MAX);
    for (const std::string text :
         {"", "-1", "+1", " 1", "1 ", "1x", "0x1", "18446744073709551616"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_number(text).has_value());
    }
}

}  // namespace lambda::session
