// Files in memory behind the disk port, in virtual time. One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/ports/disk.h"
#include "tools/sim/world.h"

namespace lambda::simulation {

struct MemoryFile {
    std::vector<std::byte> bytes;
    std::int64_t mtime_ns = 1;
    std::uint32_t mode = 0644;
    std::uint64_t id = 1;
    std::string shows{};  // of a link
    std::int64_t ctime_ns = 1;
};

// A disk in memory that needs some time for each operation, and fails where it is told to.
class MemoryDisk final : public ports::Disk {
  public:
    MemoryDisk(World& world, Alarm& owner, std::uint32_t slots, std::uint32_t block_bytes);

    std::map<std::string, MemoryFile> files;  // also "NAME.part" and "NAME.journal"
    std::map<std::string, ports::FileMetadata> directories;
    std::set<std::string> fail_create, fail_write, fail_read, fail_commit;
    std::function<void(const std::string& path, std::uint64_t offset)> on_read;
    // May change what a write leaves on the disk; the bytes begin at `offset` of the file.
    std::function<void(const std::string& path, std::uint64_t offset, ByteSpan written)> on_write;
    Duration latency = std::chrono::microseconds(200);
    bool copies = false;   // sources of which each read ends at once
    bool full = false;     // from now on every write fails
    Time stalled_until{};  // nothing that is asked for ends before

    std::size_t open_files() const { return open_.size(); }
    // The end that used it is gone: what it held is closed, partial files without a journal go.
    void let_go();
    // The machine lost its power: of what was written and not flushed any part may be lost.
    void lose_power();

    std::uint32_t slot_count() const override { return static_cast<std::uint32_t>(slots_.size()); }
    ByteSpan slot(std::uint32_t index) override { return slots_[index]; }
    void open_source(ports::DiskTag tag, const ports::SourceFile& file,
                     std::uint64_t grain) override;
    bool read(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
              std::size_t at, std::size_t bytes) override;
    bool copies_here(ports::DiskFile) override { return copies && world_.now() >= stalled_until; }
    void check_source(ports::DiskTag tag, ports::DiskFile file) override;
    void find_partials(ports::DiskTag tag, const std::string& path, bool below) override;
    void create_target(ports::DiskTag tag, const ports::TargetName& name, std::uint64_t size,
                       std::vector<Range> holes, Keep keep) override;
    void sync(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
              std::vector<std::byte> image) override;
    bool write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
               std::size_t at, std::size_t bytes) override;
    void flush(ports::DiskTag tag, ports::DiskFile file) override;
    void commit(ports::DiskTag tag, ports::DiskFile file,
                const ports::FileMetadata& metadata) override;
    void make_entry(ports::DiskTag tag, ports::Making making) override;
    void close(ports::DiskFile file) override;
    void submit() override {}
    std::span<ports::DiskEvent> poll() override;

  private:
    struct Open {
        std::string path;
        bool target = false;
        std::vector<Range> unflushed{};
    };
    std::string name_of(ports::DiskFile file) const;
    ports::DiskEvent made(const ports::Making& making, ByteView content);
    void end_later(std::function<ports::DiskEvent()> action);

    World& world_;
    Alarm& owner_;
    std::vector<std::vector<std::byte>> slots_;
    std::map<ports::DiskFile, Open> open_;
    ports::DiskFile next_file_ = 0;
    std::vector<ports::DiskEvent> ended_, given_;
    unsigned in_flight_ = 0;
};

}  // namespace lambda::simulation
