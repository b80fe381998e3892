// When a receiver gives the slot of small files back.
#include <cstring>

#include "common/transfer/sink.h"
#include "tests/support/catch.h"
#include "tests/unit/transfer/told_disk.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

constexpr std::size_t kBlock = 1u << 20;
constexpr std::size_t kFiles = 5, kBytes = 1000;

FileRecord whole_file(std::uint32_t number, std::uint64_t place, std::uint64_t size) {
    return {.file = number,
            .place = place,
            .size = size,
            .mode = 0644,
            .name = "file" + std::to_string(number),
            .data = {{0, size}}};
}

struct MakingDisk final : testing::ToldDisk {
    MakingDisk() : ToldDisk(8, kBlock) {}
    void make_entry(ports::DiskTag tag, ports::Making making) override {
        tags.push_back(tag);
        makings.push_back(std::move(making));
    }
    std::vector<ports::DiskTag> tags;
    std::vector<ports::Making> makings;
};

struct Receiver {
    MakingDisk disk;
    StreamSender stream;
    Sink sink{disk, stream, Target{"folder", true}, kBlock,
              Sink::Listener{[](Sink::Failure) {}, [](const SkipRecord&) {}}};
    std::vector<std::byte> content = std::vector<std::byte>(kBytes, std::byte{7});

    void announce() {
        for (std::uint32_t i = 0; i < kFiles; ++i) {
            REQUIRE(sink.handle(whole_file(i, i * kBytes, kBytes)));
        }
        REQUIRE(sink.handle(FrontierRecord{kBlock}));
    }
    void close(std::uint32_t first, std::uint32_t last) {
        FileDigest digest(kBytes);
        digest.add_leaf(0, leaf_digest(content));
        for (std::uint32_t i = first; i < last; ++i)
            REQUIRE(sink.handle(CloseRecord{i, kBytes, 0, digest.finish()}));
    }
    void bring() {
        const Digest digest = leaf_digest(content);
        for (std::uint32_t i = 0; i < kFiles; ++i) sink.accept(i * kBytes, content, &digest);
    }
    void end(std::size_t making) { sink.handle(ports::DiskEvent{.tag = disk.tags[making]}); }
};

}  // namespace

TEST_CASE("sink slots: given back once the disk took all the content, and each file ends later") {
    Receiver receiver;
    receiver.announce();
    receiver.close(0, kFiles);
    const std::uint64_t before = receiver.sink.credit();
    receiver.bring();
    REQUIRE(receiver.disk.makings.size() == kFiles);
    for (std::size_t i = 0; i < kFiles; ++i)
        CHECK(receiver.disk.makings[i].returns == (i + 1 == kFiles));
    receiver.end(0);  // before the others were even taken
    CHECK(receiver.sink.credit() == before);

    receiver.sink.handle(ports::DiskEvent{.tag = receiver.disk.tags.back(), .returned = true});
    CHECK(receiver.sink.credit() == before + 1);
    CHECK(receiver.sink.totals().files_done == 1);
    for (std::size_t i = 1; i < kFiles; ++i) receiver.end(i);
    CHECK(receiver.sink.totals().files_done == kFiles);
    CHECK(receiver.sink.credit() == before + 1);
}

TEST_CASE("sink slots: kept for files that are not closed, or are read back") {
    const bool read_back = GENERATE(false, true);
    CAPTURE(read_back);
    Receiver receiver;
    if (read_back) receiver.sink.set_read_back();
    receiver.announce();
    receiver.close(0, read_back ? kFiles : 2);
    const std::uint64_t before = receiver.sink.credit();
    receiver.bring();
    if (!read_back) receiver.close(2, kFiles);
    REQUIRE(receiver.disk.makings.size() == kFiles);
    for (const ports::Making& making : receiver.disk.makings) CHECK_FALSE(making.returns);
    for (std::size_t i = 0; i + 1 < kFiles; ++i) receiver.end(i);
    CHECK(receiver.sink.credit() == before);
    receiver.end(kFiles - 1);
    CHECK(receiver.sink.credit() == before + 1);
}

// The search for what an earlier transfer left takes its time in a large directory.
TEST_CASE("sink slots: a search that finds nothing gives back no slot that holds a leaf") {
    struct SearchedDisk final : testing::ToldDisk {
        SearchedDisk() : ToldDisk(64, kBlock) {}
        void find_partials(ports::DiskTag tag, const std::string&, bool) override { search = tag; }
        void create_target(ports::DiskTag tag, const ports::TargetName&, std::uint64_t,
                           std::vector<Range>, Keep) override {
            created.push_back(tag);
        }
        bool write(ports::DiskTag tag, ports::DiskFile, std::uint64_t, std::uint32_t, std::size_t,
                   std::size_t bytes) override {
            written.push_back({.tag = tag, .bytes = bytes});
            return true;
        }
        ports::DiskTag search = 0;
        std::vector<ports::DiskTag> created;
        std::vector<ports::DiskEvent> written;
    } disk;
    constexpr std::size_t kLarge = 100'000;
    constexpr std::uint32_t kChanged = 4;
    StreamSender stream;
    Sink sink{disk, stream, Target{"folder", true}, kBlock,
              Sink::Listener{[](Sink::Failure) {}, [](const SkipRecord&) {}}};
    const std::vector<std::byte> content(kLarge, std::byte{7});
    const Digest digest = leaf_digest(content);
    for (std::uint32_t i = 0; i < kChanged; ++i) {
        REQUIRE(sink.handle(whole_file(i, i * kBlock, kLarge)));
    }
    REQUIRE(sink.handle(FrontierRecord{kChanged * kBlock}));
    sink.turn({}, {});
    REQUIRE(disk.created.size() == kChanged);
    for (std::uint32_t i = 0; i < kChanged; ++i)
        sink.handle(ports::DiskEvent{.tag = disk.created[i], .file = i});
    for (std::uint32_t i = 0; i < kChanged; ++i) sink.accept(i * kBlock, content, &digest);
    sink.turn({}, {});
    REQUIRE(disk.written.size() == kChanged);
    for (const ports::DiskEvent& event : disk.written) sink.handle(event);
    for (std::uint32_t i = 0; i < kChanged; ++i) {
        REQUIRE(sink.handle(ChangedRecord{i}));
        REQUIRE(sink.handle(LeafRecord{i, 0, digest}));
    }
    sink.turn({}, {});  // each is compared, in a slot that is spare
    const std::uint64_t before = sink.credit();
    sink.handle(ports::DiskEvent{.tag = disk.search});
    CHECK(sink.credit() == before);
}
