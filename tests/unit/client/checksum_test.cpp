#include "client/checksum.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

TEST_CASE("a line of checksum is as sha256sum writes it") {
    CHECK(checksum_line("ab", "a name") == "ab  a name");
    CHECK(checksum_line("ab", "a\\b\nc\rd") == "\\ab  a\\\\b\\nc\\rd");
}

TEST_CASE("the algorithm of a checksum is one that there is") {
    const auto parse = [](const char* name) {
        const std::vector<const char*> words{"checksum", "--algorithm", name, "x"};
        return parse_arguments(words, {});
    };
    CHECK(parse("adler32")->algorithm == verify::Algorithm::adler32);
    REQUIRE_FALSE(parse("sha1").ok());
    CHECK(parse("sha1").error().message.find("sha256") != std::string::npos);
}
