#include "common/base/json.h"

#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("JSON strings keep bytes that are no UTF-8") {
    CHECK(json_string("a") == R"("a")");
    CHECK(json_string("\"\\/") == R"("\"\\/")");
    CHECK(json_string("\n\t\x01\x7f") == R"("\n\u0009\u0001\u007f")");
    CHECK(json_string("\xff\x80") == R"("\udcff\udc80")");
    CHECK(json_string("é€😀") == "\"é€😀\"");
    CHECK(json_string("\xc3") == R"("\udcc3")");  // cut short
    CHECK(json_string("\xc3x") == R"("\udcc3x")");
    CHECK(json_string("\xc0\xaf") == R"("\udcc0\udcaf")");  // overlong
    CHECK(json_string("\xe0\x80\x80") == R"("\udce0\udc80\udc80")");
    CHECK(json_string("\xed\xb3\xbf") == R"("\udced\udcb3\udcbf")");  // a surrogate
    CHECK(json_string("\xf4\x90\x80\x80") == R"("\udcf4\udc90\udc80\udc80")");
    CHECK(json_string("\xe2\x82") == R"("\udce2\udc82")");
    CHECK(json_string(std::string_view("\0", 1)) == R"("\u0000")");
}

TEST_CASE("JSON objects keep their order") {
    CHECK(JsonObject()
              .text("a", "x")
              .number("b", std::uint64_t{18446744073709551615u})
              .number("c", 0.5)
              .raw("d", "null")
              .line() == R"({"a":"x","b":18446744073709551615,"c":0.500000,"d":null})");
    CHECK(JsonObject().number("a", 0.0 / 0.0 * 0).line() == R"({"a":null})");
}

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
