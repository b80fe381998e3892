#include "common/base/name_parts.h"

#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("base names") {
    CHECK(base_name("a") == "a");
    CHECK(base_name("/a/b") == "b");
    CHECK(base_name("/a/b//") == "b");
    CHECK(base_name("/") == "");
    CHECK(base_name("") == "");
}

TEST_CASE("what holds a name") {
    CHECK(holder_of("a") == "");
    CHECK(holder_of("a/b/c") == "a/b");
    CHECK(holder_of("/a") == "");
    CHECK(holder_of("") == "");
}
