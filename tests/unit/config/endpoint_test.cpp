#include "config/endpoint.h"

#include "tests/support/catch.h"

using namespace lambda::config;

TEST_CASE("an endpoint comes back as it was written") {
    for (const char* text :
         {"127.0.0.1:2811", "0.0.0.0:0", "[::]:2811", "[::1]:65535", "[fe80::1]:1"}) {
        const auto address = parse_endpoint(text);
        REQUIRE(address.ok());
        CHECK(format_endpoint(*address) == text);
    }
}

TEST_CASE("what is no endpoint is refused") {
    using namespace std::string_view_literals;
    for (const auto text :
         {""sv, ":"sv, "1.2.3.4"sv, "1.2.3.4:"sv, "1.2.3.4:x"sv, "1.2.3.4:65536"sv, "1.2.3.4:-1"sv,
          "1.2.3:5"sv, "::1:5"sv, "[::1]"sv, "[]:5"sv, "[:5"sv, "[1.2.3.4]:5"sv, "host:5"sv,
          "1.2.3.4\0:5"sv, "1.2.3.4:5 "sv}) {
        CAPTURE(text);
        CHECK_FALSE(parse_endpoint(text).ok());
    }
}
