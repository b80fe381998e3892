// A receiver's set by itself, over a disk in memory: a test says what the sender says. One thread.
#pragma once

#include <string>
#include <vector>

#include "common/transfer/sink.h"
#include "tests/support/catch.h"
#include "tools/sim/memory_disk.h"
#include "tools/sim/run.h"

namespace lambda::transfer::testing {

struct Receiver {
    static constexpr std::uint32_t kBlock = 2u << 20;

    simulation::World world{1};
    simulation::Alarm alarm{world, [] {}};
    simulation::MemoryDisk disk;
    StreamSender stream;
    std::vector<Sink::Failure> failures;
    Sink sink{disk, stream, Target{"to", true}, kBlock,
              Sink::Listener{[this](Sink::Failure failure) { failures.push_back(failure); },
                             [](const SkipRecord&) {}}};

    explicit Receiver(std::uint32_t slots = 8) : disk(world, alarm, slots, kBlock) {}

    // Announces the next file, "f0", "f1", ...: all data, unless `data` says where it has some.
    bool takes(std::uint64_t place, std::uint64_t size) { return takes(place, size, {{0, size}}); }
    bool takes(std::uint64_t place, std::uint64_t size, std::vector<Range> data) {
        FileRecord record;
        record.file = next_++;
        record.name = "f" + std::to_string(record.file);
        record.place = place;
        record.size = size;
        record.data = std::move(data);
        return sink.handle(record);
    }
    // Packets: `content` from `offset` of the file at `place` on, a leaf each.
    void send(std::uint64_t place, ByteView content, std::uint64_t offset = 0) {
        while (offset < content.size()) {
            const ByteView leaf =
                content.subspan(offset, std::min(kLeafBytes, content.size() - offset));
            const Digest digest = leaf_digest(leaf);
            sink.accept(place + offset, leaf, &digest);
            offset += leaf.size();
        }
    }
    bool close(FileNumber file, ByteView content) {
        FileDigest digest(content.size());
        for (std::uint64_t at = 0; at < content.size(); at += kLeafBytes)
            digest.add_leaf(
                at, leaf_digest(content.subspan(at, std::min(kLeafBytes, content.size() - at))));
        return sink.handle(CloseRecord{file, content.size(), 1, digest.finish()});
    }
    bool voids(FileNumber file) {
        return sink.handle(VoidRecord{file, {0, 1}, Fault::file, "gone"});
    }
    bool finish() { return sink.handle(FinishRecord{next_}); }

    // One turn of it and of its disk.
    void turn() {
        for (const ports::DiskEvent& event : disk.poll()) sink.handle(event);
        sink.turn(world.now(), {});
    }
    // Turns, until the disk has nothing more to do within a second.
    void settle() {
        do {
            turn();
        } while (world.step(world.now() + std::chrono::seconds(1)));
    }

  private:
    FileNumber next_ = 0;
};

}  // namespace lambda::transfer::testing
