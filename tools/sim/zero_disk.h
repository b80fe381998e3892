// One file of zeros to read, or a sink for anything: a disk that never is the bottleneck.
// All slots are the same memory, since all bytes are the same. One thread.
#pragma once

#include <string>
#include <vector>

#include "common/ports/disk.h"
#include "tools/sim/world.h"

namespace lambda::simulation {

class ZeroDisk final : public ports::Disk {
  public:
    static constexpr std::uint64_t kEndless = std::uint64_t{1} << 50;

    ZeroDisk(World& world, Alarm& owner, std::uint32_t slots, std::uint32_t block_bytes,
             std::uint64_t file_bytes = kEndless)
        : world_(world),
          owner_(owner),
          slots_(slots),
          file_bytes_(file_bytes),
          memory_(block_bytes) {}

    std::uint32_t slot_count() const override { return slots_; }
    ByteSpan slot(std::uint32_t) override { return memory_; }
    void open_source(ports::DiskTag tag, const ports::SourceFile& file,
                     std::uint64_t grain) override;
    bool read(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
              std::size_t at, std::size_t bytes) override;
    bool copies_here(ports::DiskFile) override { return true; }
    void check_source(ports::DiskTag tag, ports::DiskFile file) override;
    void find_partials(ports::DiskTag tag, const std::string& path, bool below) override;
    void create_target(ports::DiskTag tag, const ports::TargetName& name, std::uint64_t size,
                       std::vector<Range> holes, Keep keep) override;
    void sync(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
              std::vector<std::byte> image) override;
    bool write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
               std::size_t at, std::size_t bytes) override;
    void flush(ports::DiskTag tag, ports::DiskFile) override { end({.tag = tag}); }
    void commit(ports::DiskTag tag, ports::DiskFile file,
                const ports::FileMetadata& metadata) override;
    void make_entry(ports::DiskTag tag, ports::Making) override { end({.tag = tag}); }
    void close(ports::DiskFile) override {}
    void submit() override {}
    std::span<ports::DiskEvent> poll() override;

  private:
    void end(ports::DiskEvent event);

    World& world_;
    Alarm& owner_;
    std::uint32_t slots_;
    std::uint64_t file_bytes_;
    std::vector<std::byte> memory_;
    std::vector<ports::DiskEvent> ended_, given_;
};

}  // namespace lambda::simulation
