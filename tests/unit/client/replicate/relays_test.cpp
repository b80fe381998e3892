#include "client/replicate/relays.h"

#include "tests/support/catch.h"

namespace lambda::client::replicate {
namespace {

TEST_CASE("each server of a job serves one destination at a time") {
    Relays relays(4);
    REQUIRE(relays.assign(0));
    CHECK(relays.assign(0));
    CHECK_FALSE(relays.from(0));
    CHECK_FALSE(relays.assign(1));
    relays.end(0, true);
    REQUIRE(relays.assign(1));
    REQUIRE(relays.assign(2));
    CHECK(relays.from(1) == 0);
    CHECK_FALSE(relays.from(2));
    CHECK_FALSE(relays.assign(3));
    relays.end(2, false);  // it lacks something
    REQUIRE(relays.assign(3));
    CHECK_FALSE(relays.from(3));
}

TEST_CASE("who is in trouble frees his server, and comes back to the source alone") {
    Relays relays(3);
    REQUIRE(relays.assign(0));
    relays.release(0);
    REQUIRE(relays.assign(1));
    CHECK_FALSE(relays.assign(0));
    relays.end(1, true);
    REQUIRE(relays.assign(0));
    CHECK(relays.from(0) == 1);
    relays.release(0);
    relays.release(0);
    CHECK_FALSE(relays.served(0));
    REQUIRE(relays.assign(0));
    CHECK_FALSE(relays.from(0));  // though the other is free
    REQUIRE(relays.assign(2));
    CHECK(relays.from(2) == 1);
}

}  // namespace
}  // namespace lambda::client::replicate
