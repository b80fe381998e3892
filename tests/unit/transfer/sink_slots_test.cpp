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
            REQUIRE(sink.handle(FileRecord{.file = i,
                                           .place = i * kBytes,
                                           .size = kBytes,
                                           .mode = 0644,
                                           .name = "file" + std::to_string(i),
                                           .data = {{0, kBytes}}}));
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
