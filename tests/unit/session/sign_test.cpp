#include "common/session/sign.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::session;

TEST_CASE("SIGN can be read again") {
    SignRequest request{.files = 3,
                        .lines = {std::byte{0xff}},
                        .server = "[::1]:2811",
                        .destination = "/home/a b;c=%\xff",
                        .into_directory = true};
    const auto read = parse_sign(format_sign(request));
    REQUIRE(read.ok());
    CHECK(*read == request);
    request.destination.clear();
    request.into_directory = false;
    CHECK(parse_sign(format_sign(request)).value() == request);
}

TEST_CASE("a SIGN without its facts, or with bad ones, is refused by name") {
    const std::string lines(64, '0');
    for (const std::string& wrong : std::vector<std::string>{
             "", "lines=" + lines + ";server=h;", "files=1;server=h;",
             "files=1;lines=" + lines + ";", "files=x;lines=" + lines + ";server=h;",
             "files=1;lines=" + lines + "0;server=h;", "files=1;lines=" + lines + ";server=%zz;",
             "files=1;lines=" + lines + ";server=h;into=nowhere;"}) {
        INFO(wrong);
        CHECK_FALSE(parse_sign(wrong).ok());
    }
}
