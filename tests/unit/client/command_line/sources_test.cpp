#include "client/command_line/sources.h"

#include "tests/support/catch.h"

namespace lambda::client {

TEST_CASE("a list's names end by a line's end or, where there is one, by a NUL") {
    using Names = std::vector<std::string>;
    CHECK(names_in("a\nb b\n\nc") == Names{"a", "b b", "c"});
    CHECK(names_in("a\r\n\r\nb\rb\r\n") == Names{"a", "b\rb"});
    CHECK(names_in("a\r\nb\n") == Names{"a\r", "b"});
    CHECK(names_in("a\r\nb") == Names{"a", "b"});
    CHECK(names_in(std::string("a\r\0b\nb\0", 7)) == Names{"a\r", "b\nb"});
    CHECK(names_in("").empty());
}

}  // namespace lambda::client
