// Files that fail twice, from both sides: each is told once, and the set ends.
#include "tests/simulation/receiver.h"

using namespace lambda;
using namespace lambda::transfer;
using lambda::transfer::testing::Receiver;

TEST_CASE("a file that the sender gave up before its target failed is forgotten") {
    Receiver receiver;
    receiver.disk.fail_create.insert("to/f0");
    const auto content = simulation::random_bytes(3 * Receiver::kBlock / 2, 1);
    REQUIRE(receiver.takes(0, content.size()));
    const bool some_came = GENERATE(false, true);
    if (some_came) receiver.send(0, content, Receiver::kBlock);
    REQUIRE(receiver.voids(0));
    REQUIRE(receiver.finish());
    receiver.settle();
    CHECK(receiver.sink.finished());
    REQUIRE(receiver.failures.size() == 1);
    CHECK(receiver.failures[0].error.message == "gone");
}
