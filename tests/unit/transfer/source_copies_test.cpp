// A source in memory that the sender's own thread copies: a block goes out as it is read.
#include <deque>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/transfer/told_disk.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

constexpr std::uint64_t kBlock = 2 * kLeafBytes;
constexpr std::uint64_t kCredit = 1000;
constexpr std::size_t kPiece = Source::kCopiedPieceBytes;
constexpr std::size_t kPayload = 60'000;

// One file. Reads end at once while it copies, else when the test says so.
struct CopyingDisk final : testing::ToldDisk {
    explicit CopyingDisk(std::uint64_t size) : ToldDisk(32, kBlock) {
        copies = true;
        opened = {.size = size, .in_memory = true, .data = {{0, size}}};
    }
    bool read(ports::DiskTag tag, ports::DiskFile, std::uint64_t, std::uint32_t, std::size_t at,
              std::size_t bytes) override {
        reading.push_back({.tag = tag, .bytes = bytes});
        places.push_back(at);
        return true;
    }
    std::deque<ports::DiskEvent> reading;
    std::vector<std::size_t> places;  // in the block, of all reads
};

struct Sender {
    CopyingDisk disk;
    simulation::ListWalker walker;
    StreamSender stream;
    StreamReceiver receiver;
    std::vector<Error> failures;
    Source source{
        disk, walker, stream, kBlock,
        Source::Listener{[this](Source::Failure failure) { failures.push_back(failure.error); },
                         [](const SkipRecord&) {}}};

    explicit Sender(std::uint64_t size) : disk(size) {
        testing::announce_file(source, disk, walker);
    }
    // What was read so far.
    void end_reads() {
        for (; !disk.reading.empty(); disk.reading.pop_front())
            source.handle(std::move(disk.reading.front()));
        source.handled_all();
    }
    // Of one piece that was asked for in vain.
    void copy() {
        REQUIRE(source.copy_wanted());
        REQUIRE(disk.reading.size() == 1);
        end_reads();
    }
    SendBlock& take() {
        REQUIRE(source.take_ready(kCredit) == nullptr);
        copy();
        SendBlock* block = source.take_ready(kCredit);
        REQUIRE(block != nullptr);
        return *block;
    }
};

}  // namespace

TEST_CASE("source copies: nothing is copied before somebody asks for it") {
    Sender sender(4 * kBlock);
    for (int i = 0; i < 3; ++i) sender.source.turn();
    CHECK(sender.disk.places.empty());
    CHECK(sender.source.can_copy());
    CHECK_FALSE(sender.source.copy_wanted());
    sender.take();
    for (int i = 0; i < 3; ++i) sender.source.turn();
    CHECK(sender.disk.places == std::vector<std::size_t>{0});
}

TEST_CASE("source copies: a block goes out piece by piece, each leaf with its digest") {
    Sender sender(kBlock + kPiece + 1000);
    SendBlock* block = &sender.take();
    std::uint64_t place = 0;
    std::vector<std::uint64_t> leaf_ends;
    while (sender.source.totals().bytes_acknowledged < kBlock + kPiece + 1000) {
        const std::optional<Cut> cut = sender.source.cut_fresh(*block, kPayload);
        if (!cut) {
            // Less than a packet of what was read is left.
            CHECK(sender.disk.places.size() * kPiece < place % kBlock + kPayload);
            sender.copy();
            continue;
        }
        CHECK(cut->place == place);
        place += cut->bytes.size();
        if (!cut->digest.empty()) leaf_ends.push_back(place);
        if (!block->all_sent()) continue;
        sender.source.resolve({block->index * kBlock, place});
        sender.disk.places.clear();
        if (place == kBlock) block = &sender.take();
    }
    CHECK(place == kBlock + kPiece + 1000);
    CHECK(leaf_ends == std::vector<std::uint64_t>{kLeafBytes, kBlock, place});
}

TEST_CASE(
    "source copies: a leaf that must go again is read though nobody asks for what is in front") {
    Sender sender(4 * kBlock);
    SendBlock* block = &sender.take();
    while (!block->all_sent()) {
        if (!sender.source.cut_fresh(*block, kPayload)) sender.copy();
    }
    sender.source.resolve({0, kBlock});
    sender.source.turn();
    REQUIRE(sender.source.can_copy());
    REQUIRE(sender.disk.reading.empty());
    REQUIRE(sender.source.handle_again({0, kLeafBytes}));
    sender.disk.places.clear();
    for (std::size_t piece = 0; piece < kLeafBytes / kPiece; ++piece) {
        sender.source.turn();
        sender.end_reads();
    }
    REQUIRE(sender.disk.places.size() == kLeafBytes / kPiece);
    CHECK(sender.disk.places.front() == kLeafBytes);
    block = sender.source.take_ready(0);
    REQUIRE(block != nullptr);
    CHECK(block->purpose == SendBlock::Purpose::again);
}

TEST_CASE("source copies: what lies on a disk is read ahead, also behind what is copied") {
    CopyingDisk disk(2 * kBlock);
    simulation::ListWalker walker;
    StreamSender stream;
    Source source{disk, walker, stream, kBlock,
                  Source::Listener{[](Source::Failure) {}, [](const SkipRecord&) {}}};
    const auto open = [&](const char* name, bool in_memory) {
        disk.opened.in_memory = in_memory;
        walker.entries.push_back({.path = name, .name = name});
        source.turn();
        for (ports::DiskEvent& event : disk.poll()) source.handle(std::move(event));
        source.turn();
    };
    open("in memory", true);
    open("on a disk", false);
    source.handle_nothing();
    source.turn();
    CHECK(disk.reading.size() == 2 * kBlock / ports::kDiskPieceBytes);
    CHECK(source.can_copy());
    CHECK(source.take_ready(kCredit) == nullptr);
    CHECK(source.copy_wanted());
    CHECK(disk.reading.back().bytes == kPiece);
}

TEST_CASE("source copies: what another thread copies is offered when all of the block is there") {
    Sender sender(4 * kBlock);
    sender.disk.copies = false;
    sender.source.turn();
    REQUIRE(sender.disk.reading.size() >= kBlock / kPiece);
    for (std::size_t piece = 0; piece < kBlock / kPiece; ++piece) {
        CHECK(sender.source.take_ready(kCredit) == nullptr);
        sender.source.handle(std::move(sender.disk.reading.front()));
        sender.disk.reading.pop_front();
    }
    CHECK(sender.source.take_ready(kCredit) != nullptr);
}

TEST_CASE("source copies: a begun block goes on when another thread copies its rest") {
    Sender sender(4 * kBlock);
    SendBlock& block = sender.take();
    REQUIRE(sender.source.cut_fresh(block, kPayload));
    sender.disk.copies = false;
    sender.source.turn();
    // The last piece comes first: nothing of it goes out before what lies in front of it.
    const std::size_t left = kBlock / kPiece - 1;
    REQUIRE(sender.disk.reading.size() >= left);
    std::swap(sender.disk.reading[0], sender.disk.reading[left - 1]);
    sender.source.handle(std::move(sender.disk.reading.front()));
    sender.disk.reading.pop_front();
    CHECK_FALSE(sender.source.cut_fresh(block, kPayload));
    sender.end_reads();
    while (!block.all_sent()) REQUIRE(sender.source.cut_fresh(block, kPayload));
}

TEST_CASE("source copies: a file that becomes shorter gives up the block that is on its way") {
    Sender sender(2 * kBlock);
    SendBlock& block = sender.take();
    const std::uint64_t index = block.index;
    REQUIRE(sender.source.cut_fresh(block, kPayload));
    REQUIRE_FALSE(sender.source.cut_fresh(block, kPayload));
    REQUIRE(sender.source.copy_wanted());
    sender.disk.reading.front().bytes = 1;
    sender.end_reads();
    REQUIRE(sender.failures.size() == 1);
    CHECK(sender.source.find(index) == nullptr);
    sender.source.turn();
    CHECK_FALSE(sender.source.can_copy());
    CHECK(sender.source.settled());
}
