#include "client/text.h"
#include "tests/support/catch.h"

using namespace lambda::client;

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

TEST_CASE("names on a terminal move no cursor") {
    CHECK(printable("a b é") == "a b é");
    CHECK(printable("\x1b[2J\n\t\r\x7f") == "\\x1b[2J\\n\\t\\x0d\\x7f");
    CHECK(printable("\xff\xc2\x9b") == "\\xff\\xc2\\x9b");
}

TEST_CASE("JSON objects keep their order") {
    CHECK(JsonObject()
              .text("a", "x")
              .number("b", std::uint64_t{18446744073709551615u})
              .number("c", 0.5)
              .raw("d", "null")
              .line() == R"({"a":"x","b":18446744073709551615,"c":0.500000,"d":null})");
    CHECK(JsonObject().number("a", 0.0 / 0.0 * 0).line() == R"({"a":0.000000})");
}
