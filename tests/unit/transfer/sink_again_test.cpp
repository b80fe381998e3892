// What a receiver takes of a block of which a leaf came wrong.
#include "common/transfer/sink.h"
#include "tests/support/catch.h"
#include "tests/unit/transfer/told_disk.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
using Where = Sink::Landing::Where;

}  // namespace

TEST_CASE(
    "sink again: bytes that their tag does not cover stay away from a leaf that comes again") {
    testing::ToldDisk disk(8, kBlock);
    StreamSender stream;
    Sink sink{disk, stream, Target{"target", false}, kBlock,
              Sink::Listener{[](Sink::Failure) {}, [](const SkipRecord&) {}}};
    const std::vector<std::byte> right(1000, std::byte{7}), wrong(1000, std::byte{8});
    REQUIRE(sink.handle(FileRecord{
        .file = 0, .place = 0, .size = 1000, .mode = 0644, .name = "f", .data = {{0, 1000}}}));
    REQUIRE(sink.handle(FrontierRecord{kBlock}));

    CHECK(sink.landing(0, 600, false, true).where == Where::scratch);
    const Digest digest = leaf_digest(right);
    sink.accept(0, wrong, &digest);
    REQUIRE(sink.totals().leaves_again == 1);
    CHECK(sink.landing(0, 600, false, true).where == Where::refuse);
    CHECK(sink.landing(600, 400, true, true).where == Where::refuse);
    CHECK(sink.landing(0, 600, false, false).where == Where::direct);
    CHECK(sink.landing(600, 400, true, false).where == Where::scratch);
}
