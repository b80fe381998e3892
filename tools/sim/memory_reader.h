// Files of a MemoryDisk read whole, in virtual time. One thread.
#pragma once

#include <algorithm>
#include <cerrno>
#include <vector>

#include "common/ports/content_reader.h"
#include "tools/sim/memory_disk.h"
#include "tools/sim/world.h"

namespace lambda::simulation {

class MemoryReader final : public ports::ContentReader {
  public:
    MemoryReader(World& world, Alarm& owner, MemoryDisk& disk)
        : world_(world), owner_(owner), disk_(disk) {}

    Duration latency = std::chrono::milliseconds(1);

    void read(std::uint64_t tag, Place place, std::size_t grain, Take take) override {
        world_.after(latency, [this, tag, place = std::move(place), grain, take = std::move(take)] {
            const MemoryFile* file = end(tag, place);
            if (file == nullptr) return;
            const ByteView bytes(file->bytes);
            for (std::size_t done = 0; done < bytes.size(); done += grain) {
                const std::size_t size = std::min(grain, bytes.size() - done);
                take({done, done + size}, bytes.subspan(done, size));
            }
        });
    }
    void try_open(std::uint64_t tag, Place place) override {
        world_.after(latency, [this, tag, place = std::move(place)] { end(tag, place); });
    }
    std::vector<ports::ContentRead> poll() override { return std::exchange(ended_, {}); }

  private:
    const MemoryFile* end(std::uint64_t tag, const Place& place) {
        const auto* source = std::get_if<ports::SourceFile>(&place);
        const std::string path =
            source != nullptr ? source->path : std::get<ports::TargetName>(place).text();
        const auto at = disk_.files.find(path);
        const bool readable = at != disk_.files.end() && !disk_.fail_read.contains(path);
        ended_.push_back({.tag = tag});
        if (readable) {
            ended_.back().size = at->second.bytes.size();
        } else {
            ended_.back().error = errno_error(Fault::file, "cannot read", path, EIO);
        }
        owner_.set(Time{});
        return readable ? &at->second : nullptr;
    }
    World& world_;
    Alarm& owner_;
    MemoryDisk& disk_;
    std::vector<ports::ContentRead> ended_;
};

}  // namespace lambda::simulation
