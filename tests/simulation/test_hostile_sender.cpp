// What a sender that lies can do to a receiver's set: nothing but end the transfer.
#include "tests/simulation/receiver.h"

using namespace lambda;
using namespace lambda::transfer;
using lambda::transfer::testing::Receiver;

namespace {

constexpr std::uint64_t kBlock = Receiver::kBlock;

}  // namespace

TEST_CASE("hostile sender: a file that no leaf of a block could hold is refused") {
    CHECK(Receiver().takes(kBlock, kLeafBytes));
    CHECK_FALSE(Receiver().takes(kLeafBytes, kLeafBytes));      // not at a block's beginning
    CHECK_FALSE(Receiver().takes(kLeafBytes / 2, kLeafBytes));  // its first leaf lies in two halves
    CHECK_FALSE(Receiver().takes(kBlock + 1, 3 * kBlock));
    CHECK_FALSE(Receiver().takes(INT64_MAX / kBlock * kBlock, kBlock));  // behind all places
}

TEST_CASE("hostile sender: a small file lies in one block") {
    CHECK(Receiver().takes(kBlock - 1000, 1000));
    CHECK(Receiver().takes(kBlock - 1001, 1000));
    CHECK_FALSE(Receiver().takes(kBlock - 999, 1000));
}

TEST_CASE("hostile sender: places never go back") {
    Receiver receiver;
    CHECK(receiver.takes(kBlock, kLeafBytes));
    CHECK_FALSE(receiver.takes(0, kLeafBytes));
}

// The disk writes whole pages: what lay there would be written over before it got its name.
TEST_CASE("hostile sender: nothing lies behind a large file in its last block") {
    constexpr std::uint64_t kLarge = 65'636;
    for (const std::uint64_t place : {kLarge, kLarge + 5000, kBlock - 3000}) {
        INFO(place);
        Receiver receiver;
        REQUIRE(receiver.takes(0, kLarge));
        CHECK_FALSE(receiver.takes(place, 3000));
    }
    Receiver receiver;
    REQUIRE(receiver.takes(0, kLarge));
    CHECK(receiver.takes(kBlock, 3000));
    CHECK(receiver.takes(kBlock + 3000, 3000));
}
