// Leaves that a receiver asks for again, in an order that only one that lies would choose.
#include <deque>
#include <map>

#include "common/transfer/source.h"
#include "tests/support/catch.h"
#include "tests/unit/transfer/told_disk.h"
#include "tools/sim/list_walker.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

constexpr std::uint64_t kBlock = 2 * kLeafBytes;

// Files by their names. Reads end at once.
struct NamedDisk final : testing::ToldDisk {
    NamedDisk() : ToldDisk(8, kBlock) {}
    void open_source(ports::DiskTag tag, const ports::SourceFile& file, std::uint64_t) override {
        ended.push_back(files.at(file.path));
        ended.back().tag = tag;
        opened = {.size = ended.back().size};
    }
    void check_source(ports::DiskTag tag, ports::DiskFile) override {
        ended.push_back(opened);
        ended.back().tag = tag;
    }
    bool read(ports::DiskTag tag, ports::DiskFile, std::uint64_t, std::uint32_t, std::size_t,
              std::size_t bytes) override {
        ended.push_back({.tag = tag, .bytes = bytes});
        return true;
    }
    std::map<std::string, ports::DiskEvent> files;
    ports::DiskEvent opened;  // the last
    std::deque<ports::DiskEvent> ended;
};

struct Sender {
    NamedDisk disk;
    simulation::ListWalker walker;
    StreamSender stream;
    Source source{disk, walker, stream, kBlock,
                  Source::Listener{[](Source::Failure) {}, [](const SkipRecord&) {}}};

    void add_small(const std::string& name, std::size_t bytes) {
        add(name, {.size = bytes, .content = Bytes(bytes), .data = {{0, bytes}}});
    }
    void add_large(const std::string& name, std::uint64_t bytes, std::vector<Range> data) {
        add(name, {.size = bytes, .data = std::move(data)});
    }
    void turns() {
        for (int i = 0; i < 10; ++i) {
            source.turn();
            hear();
        }
    }
    void hear() {
        for (; !disk.ended.empty(); disk.ended.pop_front())
            source.handle(std::move(disk.ended.front()));
    }
    // Nothing of the block that is ready was sent before.
    void send() {
        SendBlock* block = source.take_ready(1000);
        REQUIRE(block != nullptr);
        while (!block->all_sent()) source.cut_fresh(*block, kLeafBytes + sizeof(Digest));
    }
    // Whose leaf it is.
    FileNumber file_in(std::uint64_t index) {
        const SendBlock* block = source.find(index);
        REQUIRE(block != nullptr);
        REQUIRE(block->extents.size() == 1);
        return block->extents.front().file;
    }

  private:
    void add(const std::string& name, ports::DiskEvent opened) {
        disk.files[name] = std::move(opened);
        walker.entries.push_back({.path = name, .name = name});
    }
};

}  // namespace

TEST_CASE("source again: a leaf on its way keeps its block though its file is refused") {
    Sender sender;
    sender.add_small("a", 30'000);
    sender.add_small("b", 60'000);
    sender.walker.no_more();
    sender.turns();
    sender.send();
    sender.source.resolve({0, 90'000});
    REQUIRE(sender.source.find(0) == nullptr);

    REQUIRE(sender.source.handle_again({0, 0}));
    REQUIRE(sender.source.handle_again({1, 0}));
    sender.turns();
    sender.send();
    REQUIRE(sender.file_in(0) == 0);
    sender.source.handle_refuse({0, Fault::file, "", ""});
    sender.turns();
    // What comes now acknowledges the leaf of the one that was refused.
    REQUIRE(sender.file_in(0) == 0);
    sender.source.resolve({0, 30'000});
    sender.turns();
    REQUIRE(sender.file_in(0) == 1);
    sender.send();
    sender.source.resolve({30'000, 90'000});
    CHECK(sender.source.find(0) == nullptr);
}

TEST_CASE("source again: of a file that is all hole nothing is missing") {
    Sender sender;
    sender.add_large("hole", 4 * kLeafBytes, {});
    sender.turns();
    REQUIRE(sender.source.totals().files_known == 1);
    // What is announced next lies in that place.
    CHECK_FALSE(sender.source.handle_again({0, 0}));
}

TEST_CASE("source again: what is to be sent waits until its block is free") {
    Sender sender;
    sender.add_large("f", 2 * kBlock, {{kLeafBytes, 2 * kBlock}});
    sender.turns();
    // A leaf of a hole, before it is known what of the file the receiver has.
    REQUIRE(sender.source.handle_again({0, 0}));
    sender.turns();
    REQUIRE(sender.source.find(0) != nullptr);
    sender.source.handle_nothing();
    sender.turns();
    REQUIRE(sender.file_in(0) == 0);
    REQUIRE(sender.source.find(0)->unresolved == kLeafBytes);
    sender.send();
    sender.source.resolve({0, kLeafBytes});
    sender.turns();
    REQUIRE(sender.source.find(0) != nullptr);
    CHECK(sender.source.find(0)->purpose == SendBlock::Purpose::fresh);
    CHECK(sender.source.find(0)->extents.front().offset == kLeafBytes);
    CHECK(sender.source.find(1) != nullptr);
}

TEST_CASE("source again: nothing of a block that is read again goes out before all of it was") {
    Sender sender;
    sender.add_large("f", kBlock, {{0, kBlock}});
    sender.walker.no_more();
    sender.turns();
    sender.source.handle_nothing();
    sender.turns();
    sender.send();
    const Range place{0, 1000};
    REQUIRE(sender.source.cut_again(place, 2000));
    sender.source.resolve({0, kBlock});
    REQUIRE(sender.source.handle_again({0, 0}));
    sender.source.turn();
    sender.hear();  // it is open once more
    sender.source.turn();
    REQUIRE(sender.source.find(0) != nullptr);
    CHECK_FALSE(sender.source.cut_again(place, 2000));
    sender.turns();
    sender.send();
    CHECK(sender.source.cut_again(place, 2000));
}
