#include "common/base/json.h"

#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("what is written can be read again, whatever bytes a text has") {
    std::string every;
    for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
    every += "\xc3\xa4\xf0\x9f\x98\x80";
    JsonObject object;
    object.text("bytes", every).number("number", UINT64_MAX).raw("yes", "true").text("", "");
    const auto fields = parse_json_line(object.line());
    REQUIRE(fields.has_value());
    REQUIRE(fields->size() == 4);
    CHECK((*fields)[0].value == every);
    CHECK((*fields)[1].kind == JsonField::Kind::number);
    CHECK((*fields)[1].value == "18446744073709551615");
    CHECK((*fields)[2].kind == JsonField::Kind::yes);
    CHECK((*fields)[3].name.empty());
}

TEST_CASE("other texts are refused") {
    for (const char* wrong : {"",
                              "{",
                              "}",
                              "{}",
                              "{\"a\"}",
                              "{\"a\":}",
                              "{\"a\":1",
                              "{\"a\":1}x",
                              "{\"a\":-1}",
                              "{\"a\":1.5}",
                              "{\"a\":false}",
                              "{\"a\":null}",
                              "{\"a\":[1]}",
                              "{\"a\":{}}",
                              "{\"a\": 1}",
                              "{\"a\":1,}",
                              "{\"a\":\"\\x\"}",
                              "{\"a\":\"\\u12\"}",
                              "{\"a\":\"\\udc\"}",
                              "{\"a\":\"\\",
                              "{\"a\":\"x",
                              "[1]",
                              "\"a\""}) {
        INFO(wrong);
        CHECK_FALSE(parse_json_line(wrong).has_value());
    }
    JsonObject many;
    for (std::size_t i = 0; i <= kMostJsonFields; ++i) many.number("n", std::uint64_t{i});
    CHECK_FALSE(parse_json_line(many.line()).has_value());
}
