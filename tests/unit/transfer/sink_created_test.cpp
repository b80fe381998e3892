// What a receiver asks of its disk for a file that is not small, before anything of it comes.
#include <cerrno>

#include "common/transfer/sink.h"
#include "tests/support/catch.h"
#include "tests/unit/transfer/told_disk.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

constexpr std::uint64_t kBlock = 1u << 20;

struct CreatingDisk final : testing::ToldDisk {
    CreatingDisk() : ToldDisk(8, kBlock) {}
    void make_entry(ports::DiskTag tag, ports::Making) override { made.push_back(tag); }
    void create_target(ports::DiskTag tag, const ports::TargetName&, std::uint64_t,
                       std::vector<Range> of, Keep) override {
        created.push_back(tag);
        holes = std::move(of);
    }
    std::vector<ports::DiskTag> made, created;
    std::vector<Range> holes;
};

struct Receiver {
    CreatingDisk disk;
    StreamSender stream;
    int failures = 0;
    Sink sink{disk, stream, Target{"folder", true}, kBlock,
              Sink::Listener{[this](Sink::Failure) { ++failures; }, [](const SkipRecord&) {}}};

    void announce(FileNumber number, const std::string& name, std::vector<Range> data) {
        REQUIRE(sink.handle(FileRecord{.file = number,
                                       .place = number * 4 * kBlock,
                                       .size = 4 * kBlock,
                                       .mode = 0644,
                                       .name = name,
                                       .data = std::move(data)}));
    }
    void refuse(ports::DiskTag tag) {
        sink.handle(ports::DiskEvent{
            .tag = tag, .error = errno_error(Fault::file, "cannot create", "d/f", EACCES)});
    }
};

}  // namespace

TEST_CASE("sink: the disk is told of a target's holes") {
    Receiver receiver;
    receiver.announce(0, "f", {{kBlock, 2 * kBlock}, {3 * kBlock, 4 * kBlock}});
    CHECK(receiver.disk.holes == std::vector<Range>{{0, kBlock}, {2 * kBlock, 3 * kBlock}});
    receiver.announce(1, "hole", {});
    CHECK(receiver.disk.holes == std::vector<Range>{{0, 4 * kBlock}});
}

// Whoever made its directory on the way would not know the mode that it is to have.
TEST_CASE("sink: a file is created once its directory is entered") {
    Receiver receiver;
    REQUIRE(receiver.sink.handle(DirectoryRecord{.entry = 0, .metadata = {}, .name = "d"}));
    REQUIRE(receiver.sink.handle(DirectoryRecord{.entry = 1, .metadata = {}, .name = "d/e"}));
    receiver.announce(2, "d/e/f", {});
    REQUIRE(receiver.sink.handle(LeaveRecord{.entry = 1}));
    receiver.announce(3, "d/g", {});
    CHECK(receiver.disk.created.empty());

    receiver.sink.handle(ports::DiskEvent{.tag = receiver.disk.made[0]});
    CHECK(receiver.disk.created.empty());
    receiver.sink.handle(ports::DiskEvent{.tag = receiver.disk.made[1]});
    REQUIRE(receiver.disk.created.size() == 2);
    receiver.announce(4, "d/h", {});
    CHECK(receiver.disk.created.size() == 3);
    receiver.refuse(receiver.disk.created[1]);
    CHECK(receiver.failures == 1);
    CHECK(receiver.disk.created.size() == 3);
}

// It failed at the source meanwhile.
TEST_CASE("sink: a file that is gone before its directory is entered is not created") {
    Receiver receiver;
    REQUIRE(receiver.sink.handle(DirectoryRecord{.entry = 0, .metadata = {}, .name = "d"}));
    receiver.announce(1, "d/f", {});
    REQUIRE(receiver.sink.handle(VoidRecord{1, {}, Fault::file, "gone"}));
    receiver.announce(2, "d/g", {});
    receiver.sink.handle(ports::DiskEvent{.tag = receiver.disk.made[0]});
    CHECK(receiver.disk.created.size() == 1);
}

// The earlier source's stays, with all its names.
TEST_CASE(
    "sink: what failed for the name of a file or link in hand takes no further name of that") {
    Receiver receiver;
    Sink& sink = receiver.sink;
    REQUIRE(sink.handle(FileRecord{.file = 0, .name = "x", .data = {}}));
    REQUIRE(sink.handle(CloseRecord{.file = 0, .digest = FileDigest(0).finish()}));
    REQUIRE(sink.handle(SameRecord{1, "y", "x"}));
    REQUIRE(sink.handle(LinkRecord{2, {}, "link", "shows"}));
    REQUIRE(sink.handle(SameRecord{3, "again", "link"}));
    for (const char* name : {"x", "link"}) {
        REQUIRE(sink.handle(FailRecord{name, Fault::file, "would land where another does", {}}));
    }
    REQUIRE(receiver.disk.made.size() == 2);
    for (const std::size_t each : {0, 1}) sink.handle({.tag = receiver.disk.made[each]});
    CHECK(receiver.disk.made.size() == 4);
    CHECK(receiver.failures == 2);

    REQUIRE(sink.handle(FailRecord{"never sent", Fault::file, "cannot open", {}}));
    REQUIRE(sink.handle(SameRecord{4, "other", "never sent"}));
    CHECK(receiver.disk.made.size() == 4);
    CHECK(receiver.failures == 4);
}

// As many as the peer puts into each other are over at once.
TEST_CASE("sink: directories that failed end with the last file in them, however deep") {
    constexpr FileNumber kDeep = 10'000;
    Receiver receiver;
    for (FileNumber i = 0; i < kDeep; ++i) {
        REQUIRE(receiver.sink.handle(DirectoryRecord{.entry = i, .metadata = {}, .name = "d"}));
        receiver.refuse(receiver.disk.made.back());
    }
    receiver.announce(kDeep, "f", {});
    for (FileNumber i = kDeep; i-- > 0;) REQUIRE(receiver.sink.handle(LeaveRecord{.entry = i}));
    REQUIRE(receiver.sink.handle(FinishRecord{kDeep + 1}));
    CHECK_FALSE(receiver.sink.all_done());
    receiver.refuse(receiver.disk.created.back());
    CHECK(receiver.sink.all_done());
    CHECK(receiver.failures == static_cast<int>(kDeep) + 1);
}
