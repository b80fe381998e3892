#include "client/report/text.h"
#include "tests/support/catch.h"

using namespace lambda::client;

TEST_CASE("names on a terminal move no cursor") {
    CHECK(printable("a b é") == "a b é");
    CHECK(printable("\x1b[2J\n\t\r\x7f") == "\\x1b[2J\\n\\t\\x0d\\x7f");
    CHECK(printable("\xff\xc2\x9b") == "\\xff\\xc2\\x9b");
}
