// A sender of sparse files: how many ranges it announces that are not done, and where they lie.
#include "common/transfer/source.h"
#include "tests/support/catch.h"
#include "tests/unit/transfer/told_disk.h"
#include "tools/sim/list_walker.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

// Every file has as many ranges as a record may have, unless it is told otherwise. What is read
// never comes.
struct SparseDisk final : testing::ToldDisk {
    explicit SparseDisk(std::uint64_t size = 2 * kMaxDataRanges * kLeafBytes,
                        std::uint64_t ranges = kMaxDataRanges)
        : ToldDisk(2, kLeafBytes) {
        opened.size = size;
        for (std::uint64_t i = 0; i < ranges; ++i)
            opened.data.push_back({2 * i * kLeafBytes, (2 * i + 1) * kLeafBytes});
    }
};

}  // namespace

TEST_CASE("a sender announces no more ranges of data than it may have in hand") {
    SparseDisk disk;
    simulation::ListWalker walker;
    StreamSender stream;
    StreamReceiver receiver;
    Source source(disk, walker, stream, kLeafBytes,
                  Source::Listener{[](Source::Failure) {}, [](const SkipRecord&) {}});
    for (int i = 0; i < 8; ++i)
        walker.entries.push_back({.path = std::to_string(i), .name = std::to_string(i)});
    walker.no_more();
    std::size_t announced = 0;
    const auto turns = [&] {
        for (int i = 0; i < 20; ++i) {
            source.turn();
            for (ports::DiskEvent& event : disk.poll()) source.handle(std::move(event));
            while (const auto piece = stream.next_piece()) receiver.handle_piece(*piece);
            while (const auto record = receiver.next())
                announced += std::holds_alternative<FileRecord>(*record);
            REQUIRE(stream.handle_consumed(receiver.consumed()));
        }
        return announced;
    };
    CHECK(turns() == kMostRanges / kMaxDataRanges);
    CHECK(source.lack() != Source::Lack::nothing);
    source.handle_refuse(RefuseRecord{1, Fault::file, "", ""});
    CHECK(turns() == kMostRanges / kMaxDataRanges + 1);
}

TEST_CASE("a sender of files that have no place in a transfer fails those alone") {
    // Of 5 EiB each: with data in them the first leaves no room for a second, as holes all do.
    for (const std::uint64_t ranges : {std::uint64_t{1}, std::uint64_t{0}}) {
        SparseDisk disk(5ull << 60, ranges);
        simulation::ListWalker walker;
        StreamSender stream;
        StreamReceiver receiver;
        std::vector<Source::Failure> failures;
        Source source(
            disk, walker, stream, kLeafBytes,
            Source::Listener{[&](Source::Failure each) { failures.push_back(std::move(each)); },
                             [](const SkipRecord&) {}});
        for (const char* name : {"a", "b", "c"})
            walker.entries.push_back({.path = name, .name = name});
        walker.no_more();
        for (int i = 0; i < 20; ++i) {
            source.turn();
            for (ports::DiskEvent& event : disk.poll()) source.handle(std::move(event));
        }
        while (const auto piece = stream.next_piece()) receiver.handle_piece(*piece);
        std::size_t announced = 0;
        while (const auto record = receiver.next())
            announced += std::holds_alternative<FileRecord>(*record);
        CHECK_FALSE(receiver.broken());
        CHECK(announced == (ranges > 0 ? 1 : 3));
        CHECK(failures.size() == (ranges > 0 ? 2 : 0));
    }
}
