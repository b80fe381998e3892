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
    Duration piece_latency{0};  // and for each piece

    void read(std::uint64_t tag, Place place, std::size_t grain, Take take) override {
        const MemoryFile* file = find(place);
        const std::size_t size = file == nullptr ? 0 : file->bytes.size();
        Duration takes = latency;
        for (std::size_t done = 0; done < size; done += grain, takes += piece_latency) {
            world_.after(takes, [this, place, grain, take, done] {
                const MemoryFile* now = find(place);
                if (now == nullptr || now->bytes.size() <= done) return;
                const ByteView piece =
                    ByteView(now->bytes).subspan(done, std::min(grain, now->bytes.size() - done));
                take({done, done + piece.size()}, piece);
            });
        }
        world_.after(takes, [this, tag, place = std::move(place)] { end(tag, place); });
    }
    void try_open(std::uint64_t tag, Place place) override {
        world_.after(latency, [this, tag, place = std::move(place)] { end(tag, place); });
    }
    std::vector<ports::ContentRead> poll() override { return std::exchange(ended_, {}); }

  private:
    static std::string path_of(const Place& place) {
        const auto* source = std::get_if<ports::SourceFile>(&place);
        return source != nullptr ? source->path : std::get<ports::TargetName>(place).text();
    }
    const MemoryFile* find(const Place& place) const {
        const std::string path = path_of(place);
        const auto at = disk_.files.find(path);
        const bool readable = at != disk_.files.end() && !disk_.fail_read.contains(path);
        return readable ? &at->second : nullptr;
    }
    void end(std::uint64_t tag, const Place& place) {
        const MemoryFile* file = find(place);
        ended_.push_back({.tag = tag});
        if (file != nullptr) {
            ended_.back().size = file->bytes.size();
        } else {
            ended_.back().error = errno_error(Fault::file, "cannot read", path_of(place), EIO);
        }
        owner_.set(Time{});
    }
    World& world_;
    Alarm& owner_;
    MemoryDisk& disk_;
    std::vector<ports::ContentRead> ended_;
};

}  // namespace lambda::simulation
