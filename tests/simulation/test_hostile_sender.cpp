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

TEST_CASE("hostile sender: a hole of 8 EiB holds up no turn") {
    Receiver receiver;
    REQUIRE(receiver.takes(0, INT64_MAX, {}));
    for (int i = 0; i < 100; ++i) receiver.sink.turn(receiver.world.now(), {});
    CHECK(receiver.sink.digesting());
    CHECK(receiver.sink.next_time() == Time{});  // it goes on
    CHECK_FALSE(receiver.sink.finished());
    // And is forgotten with its file.
    REQUIRE(receiver.voids(0));
    REQUIRE(receiver.finish());
    receiver.settle();
    CHECK(receiver.sink.finished());
    CHECK_FALSE(receiver.sink.digesting());
}

TEST_CASE("hostile sender: files with ranges without number are refused") {
    std::vector<Range> data;
    for (std::uint64_t i = 0; i < kMaxDataRanges; ++i)
        data.push_back({2 * i * kLeafBytes, (2 * i + 1) * kLeafBytes});
    const std::uint64_t size = 2 * kMaxDataRanges * kLeafBytes;
    Receiver receiver;
    std::uint64_t place = 0;
    for (std::size_t ranges = 0; ranges < Sink::kMaxRanges; ranges += data.size()) {
        REQUIRE(receiver.takes(place, size, data));
        place += size;
    }
    CHECK_FALSE(receiver.takes(place, size, {{0, kLeafBytes}}));
}

TEST_CASE("hostile sender: finished blocks with gaps between them have a bound") {
    Receiver receiver;
    REQUIRE(receiver.sink.handle(FrontierRecord{INT64_MAX / kBlock * kBlock}));
    const std::vector<std::byte> byte(1);
    for (std::size_t i = 0; i <= Sink::kMaxFinishedRanges; ++i) {
        REQUIRE_FALSE(receiver.sink.scattered());
        if (i % 2 == 0) {
            receiver.sink.accept(2 * i * kBlock, byte, nullptr);
        } else {
            REQUIRE(receiver.sink.handle(DropRecord{2 * i}));
        }
    }
    CHECK(receiver.sink.scattered());
}

TEST_CASE("hostile sender: pieces of open blocks have a bound") {
    const std::vector<std::byte> byte(1);
    const Digest digest = leaf_digest(byte);
    constexpr std::size_t kMost = 500'000;  // of some hundred bytes each
    for (const bool ends_leaves : {true, false}) {
        INFO(ends_leaves);
        Receiver receiver;
        const std::uint64_t step = ends_leaves ? 1 : 2;
        std::size_t pieces = 0;
        while (pieces < kMost && !receiver.sink.scattered())
            receiver.sink.accept(step * pieces++, byte, ends_leaves ? &digest : nullptr);
        CHECK(pieces < kMost);
        // What is given up no longer counts.
        for (std::uint64_t block = 0; block <= step * pieces / kBlock; ++block)
            REQUIRE(receiver.sink.handle(DropRecord{block}));
        CHECK_FALSE(receiver.sink.scattered());
    }
}

// What is not sent leaves no gaps behind: else honest trees of sparse files would reach the bound.
TEST_CASE("the blocks of a file's holes are finished with it") {
    constexpr std::uint64_t kStep = 2 * kBlock;
    const auto leaf = simulation::random_bytes(kLeafBytes, 1);
    Receiver receiver;
    std::vector<Range> data;
    for (std::uint64_t i = 1; i <= 20; ++i) data.push_back({i * kStep, i * kStep + kLeafBytes});
    const std::uint64_t size = 21 * kStep + kBlock + 5;
    REQUIRE(receiver.takes(kBlock, size, data));
    for (const Range& range : data) {
        // Of a block in a hole nothing is taken, and no credit returns for it.
        const std::uint64_t credit = receiver.sink.credit();
        receiver.sink.accept(kBlock + range.first - kBlock, leaf, nullptr);
        REQUIRE(receiver.sink.handle(DropRecord{(kBlock + range.first) / kBlock - 1}));
        CHECK(receiver.sink.credit() == credit);
    }
    for (const Range& range : data) {
        const Digest digest = leaf_digest(leaf);
        receiver.sink.accept(kBlock + range.first, leaf, &digest);
        receiver.settle();
    }
    FileDigest digest(size);
    std::uint64_t at = 0;
    for (const Range& range : data) {
        digest.add_zeros(at, range.first);
        digest.add_leaf(range.first, leaf_digest(leaf));
        at = range.last;
    }
    digest.add_zeros(at, size);
    REQUIRE(receiver.sink.handle(CloseRecord{0, size, 1, digest.finish()}));
    REQUIRE(receiver.finish());
    receiver.settle();
    CHECK(receiver.sink.finished());
    CHECK(receiver.sink.totals().files_done == 1);
    CHECK(receiver.disk.files.at("to/f0").bytes.size() == size);
}
