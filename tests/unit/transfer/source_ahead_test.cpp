// How far a sender reads ahead of what is sent.
#include <deque>

#include "tests/support/catch.h"
#include "tests/unit/transfer/told_disk.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

constexpr std::uint64_t kLeaves = 1000;

// One file. Reads end when the test says so, in their order.
struct SlowDisk final : testing::ToldDisk {
    SlowDisk() : ToldDisk(2 * Source::kMostAhead, kLeafBytes) {
        opened.size = kLeaves * kLeafBytes;
        opened.data = {{0, opened.size}};
    }
    bool read(ports::DiskTag tag, ports::DiskFile, std::uint64_t, std::uint32_t, std::size_t,
              std::size_t bytes) override {
        reading.push_back({.tag = tag, .bytes = bytes});
        return true;
    }
    std::deque<ports::DiskEvent> reading;
};

struct Sender {
    SlowDisk disk;
    simulation::ListWalker walker;
    StreamSender stream;
    StreamReceiver receiver;
    Source source{disk, walker, stream, kLeafBytes,
                  Source::Listener{[](Source::Failure) {}, [](const SkipRecord&) {}}};

    explicit Sender(bool in_memory = false) {
        disk.opened.in_memory = in_memory;
        testing::announce_file(source, disk, walker);
    }
    // In leaves.
    std::size_t reading() const {
        const std::size_t piece =
            disk.opened.in_memory ? Source::kCopiedPieceBytes : ports::kDiskPieceBytes;
        return disk.reading.size() * piece / kLeafBytes;
    }
    void end_reads() {
        for (; !disk.reading.empty(); disk.reading.pop_front())
            source.handle(std::move(disk.reading.front()));
    }
    // All that are ready, sent and acknowledged.
    std::size_t send() {
        std::size_t sent = 0;
        while (SendBlock* block = source.take_ready(kLeaves)) {
            const std::uint64_t place = block->index * kLeafBytes;
            while (!block->all_sent()) source.cut_fresh(*block, kLeafBytes + sizeof(Digest));
            source.resolve({place, place + kLeafBytes});
            ++sent;
        }
        source.turn();
        return sent;
    }
};

}  // namespace

TEST_CASE("a sender whose disk keeps up reads a few blocks ahead") {
    Sender sender;
    CHECK(sender.reading() == Source::kLeastAhead);
    for (int i = 0; i < 100; ++i) {
        sender.end_reads();
        REQUIRE(sender.source.take_ready(kLeaves) != nullptr);
        sender.source.turn();
        CHECK(sender.reading() <= 1);
        if (i % 8 == 7) sender.source.resolve({0, static_cast<std::uint64_t>(i) * kLeafBytes});
    }
}

TEST_CASE("a sender that waits for its disk reads further ahead, up to a bound") {
    Sender sender;
    // Nothing is known of a disk that has not answered yet.
    for (int i = 0; i < 5; ++i) CHECK(sender.send() == 0);
    CHECK(sender.reading() == Source::kLeastAhead);
    std::size_t expected = Source::kLeastAhead;
    for (int i = 0; i < 8; ++i) {
        sender.end_reads();
        CHECK(sender.send() == expected);  // then there is nothing, and all of it is being read
        sender.source.handled_all();
        CHECK(sender.send() == 0);
        expected = std::min(2 * expected, Source::kMostAhead);
        CHECK(sender.reading() == expected);
    }
    CHECK(expected == Source::kMostAhead);
}

TEST_CASE("a sender reads no further ahead of what is only copied") {
    Sender sender(true);
    for (int i = 0; i < 8; ++i) {
        CHECK(sender.reading() == Source::kLeastAhead);
        sender.end_reads();
        CHECK(sender.send() == Source::kLeastAhead);
        sender.source.handled_all();
        CHECK(sender.send() == 0);
    }
}

TEST_CASE("a sender that sends more in a turn than it reads ahead has no slow disk for that") {
    Sender sender;
    for (int i = 0; i < 20; ++i) {
        sender.end_reads();
        sender.source.handled_all();
        CHECK(sender.send() == Source::kLeastAhead);
        CHECK(sender.send() == 0);  // within the same turn
        CHECK(sender.reading() == Source::kLeastAhead);
    }
}
