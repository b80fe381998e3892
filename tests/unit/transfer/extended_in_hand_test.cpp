// How much of extended attributes the two ends hold of entries that are not done.
#include "common/transfer/extended_limit.h"
#include "common/transfer/sink.h"
#include "common/transfer/source.h"
#include "tests/support/catch.h"
#include "tests/unit/transfer/told_disk.h"
#include "tools/sim/list_walker.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

using Kind = ports::Found::Kind;

constexpr std::size_t kValue = 190 * 1024;

// One large attribute, or as many small ones as may be.
ports::Archived attributes(bool small = false) {
    ports::Archived archived;
    for (std::size_t i = 0; i < (small ? kMaxExtended : 1); ++i)
        archived.extended.push_back({"u", std::string(small ? 0 : kValue, 'x')});
    return archived;
}

// Of how many entries as much as `bytes` is.
std::size_t entries_of(std::size_t bytes, const ports::Archived& each) {
    return bytes / extended_in_hand(each);
}

struct Sender {
    testing::ToldDisk disk{8, kLeafBytes};
    simulation::ListWalker walker;
    StreamSender stream;
    StreamReceiver receiver;
    std::vector<std::string> failures;
    Source source{disk, walker, stream, kLeafBytes,
                  Source::Listener{[this](Source::Failure each) { failures.push_back(each.name); },
                                   [](const SkipRecord&) {}}};
    std::size_t entries = 0, with_attributes = 0;

    void turns() {
        for (int i = 0; i < 400; ++i) {
            source.turn();
            for (ports::DiskEvent& event : disk.poll()) source.handle(std::move(event));
            while (const auto piece = stream.next_piece()) receiver.handle_piece(*piece);
            while (const auto record = receiver.next()) {
                const auto* directory = std::get_if<DirectoryRecord>(&*record);
                entries += directory != nullptr || std::holds_alternative<FileRecord>(*record);
                with_attributes += directory != nullptr && directory->metadata.archived;
            }
            REQUIRE(stream.handle_consumed(receiver.consumed()));
        }
    }
};

struct Receiver {
    testing::ToldDisk disk{8, kLeafBytes};
    StreamSender stream;
    Sink sink{disk, stream, Target{"to", true}, kLeafBytes,
              Sink::Listener{[](Sink::Failure) {}, [](const SkipRecord&) {}}};
    FileNumber next = 0;

    bool file(const ports::Archived& archived) {
        FileRecord record;
        record.file = next;
        record.place = next * kLeafBytes;
        record.size = kLeafBytes;
        record.name = std::to_string(next++);
        record.data = {{0, kLeafBytes}};
        record.archived = archived;
        return sink.handle(record);
    }
    bool directory(const ports::Archived& archived) {
        const FileNumber number = next++;
        return sink.handle(
            DirectoryRecord{number, {.mode = 0755, .archived = archived}, std::to_string(number)});
    }
};

}  // namespace

TEST_CASE("a sender announces nothing while it has enough of attributes in hand") {
    const bool small = GENERATE(false, true);
    Sender sender;
    sender.disk.opened.size = kLeafBytes;
    sender.disk.opened.data = {{0, kLeafBytes}};
    sender.disk.opened.archived = attributes(small);
    const std::size_t most = entries_of(kMostExtendedInHand, attributes(small)) + 1;
    for (std::size_t i = 0; i < most + 100; ++i)
        sender.walker.entries.push_back({.path = "f", .name = std::to_string(i)});
    sender.walker.no_more();
    sender.turns();
    CHECK(sender.entries == most);
    sender.source.handle_refuse({0, Fault::file, "", ""});
    sender.turns();
    CHECK(sender.entries == most + 1);
}

TEST_CASE("a sender enters directories without end, with what may be held of their attributes") {
    constexpr std::size_t kDepth = 100;
    Sender sender;
    std::string name = "d";
    for (std::size_t i = 0; i < kDepth; ++i, name += "/d") {
        sender.walker.entries.push_back({.kind = Kind::directory, .path = name, .name = name});
        sender.walker.entries.back().metadata.archived = attributes();
    }
    for (std::size_t i = 0; i < kDepth; ++i) sender.walker.entries.push_back({.kind = Kind::leave});
    sender.walker.entries.push_back({.kind = Kind::directory, .path = "e", .name = "e"});
    sender.walker.entries.back().metadata.archived = attributes();
    sender.walker.entries.push_back({.kind = Kind::leave});
    sender.walker.no_more();
    sender.turns();
    const std::size_t most = entries_of(kMostExtendedInHand / 2, attributes());
    CHECK(sender.entries == kDepth + 1);
    CHECK(sender.with_attributes == most + 1);
    CHECK(sender.failures.size() == kDepth - most);
    for (FileNumber i = 0; i <= kDepth; ++i) sender.source.handle_done({i, {}});
    CHECK(sender.source.settled());
}

TEST_CASE("a receiver takes no entry with more of attributes in hand than a sender has") {
    const bool small = GENERATE(false, true);
    const std::size_t most = entries_of(2 * kMostExtendedInHand, attributes(small));
    Receiver receiver;
    for (std::size_t i = 0; i < most; ++i)
        REQUIRE((i % 2 == 0 ? receiver.file(attributes(small))
                            : receiver.directory(attributes(small))));
    // What failed needs none, though the disk has it still.
    REQUIRE(receiver.sink.handle(VoidRecord{0, {0, kLeafBytes}, Fault::file, "gone"}));
    REQUIRE(receiver.file(attributes(small)));
    CHECK_FALSE(receiver.file(attributes(small)));
    --receiver.next;
    CHECK(receiver.directory({}));
}
