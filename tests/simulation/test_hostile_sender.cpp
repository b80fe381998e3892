// What a sender that lies can do to a receiver's set: nothing but end the transfer.
#include "common/transfer/sink.h"
#include "tests/support/catch.h"
#include "tools/sim/memory_disk.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

constexpr std::uint32_t kBlock = 2u << 20;

struct Receiver {
    simulation::World world{1};
    simulation::Alarm alarm{world, [] {}};
    simulation::MemoryDisk disk{world, alarm, 4, kBlock};
    StreamSender stream;
    Sink sink{disk, stream, Target{"to", true}, kBlock,
              Sink::Listener{[](Sink::Failure) {}, [](const SkipRecord&) {}}};

    bool takes(std::uint64_t place, std::uint64_t size) {
        FileRecord record;
        record.file = next_++;
        record.name = "f" + std::to_string(record.file);
        record.place = place;
        record.size = size;
        record.data = {{0, size}};
        return sink.handle(record);
    }

  private:
    FileNumber next_ = 0;
};

}  // namespace

TEST_CASE("hostile sender: a file that no leaf of a block could hold is refused") {
    CHECK(Receiver().takes(kBlock, kLeafBytes));
    CHECK_FALSE(Receiver().takes(kLeafBytes, kLeafBytes));      // not at a block's beginning
    CHECK_FALSE(Receiver().takes(kLeafBytes / 2, kLeafBytes));  // its first leaf lies in two halves
    CHECK_FALSE(Receiver().takes(kBlock + 1, 3 * kBlock));
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
