// A disk that opens every file as a test tells, and of which nothing else ever ends by itself.
#pragma once

#include <utility>
#include <vector>

#include "common/ports/disk.h"
#include "common/transfer/source.h"
#include "tools/sim/list_walker.h"

namespace lambda::transfer::testing {

struct ToldDisk : ports::Disk {
    explicit ToldDisk(std::uint32_t slots, std::size_t block_bytes)
        : slots_(slots), memory_(block_bytes) {}

    ports::DiskEvent opened;  // but for its tag
    bool copies = false;

    std::uint32_t slot_count() const override { return slots_; }
    // The same for all.
    ByteSpan slot(std::uint32_t) override { return memory_; }
    void open_source(ports::DiskTag tag, const ports::SourceFile&, std::uint64_t) override {
        ports::DiskEvent event = opened;
        event.tag = tag;
        events_.push_back(std::move(event));
    }
    bool read(ports::DiskTag, ports::DiskFile, std::uint64_t, std::uint32_t, std::size_t,
              std::size_t) override {
        return false;
    }
    bool copies_here(ports::DiskFile) override { return copies; }
    void check_source(ports::DiskTag, ports::DiskFile) override {}
    void find_partials(ports::DiskTag, const std::string&, bool) override {}
    void create_target(ports::DiskTag, const ports::TargetName&, std::uint64_t, std::vector<Range>,
                       Keep) override {}
    bool write(ports::DiskTag, ports::DiskFile, std::uint64_t, std::uint32_t, std::size_t,
               std::size_t) override {
        return false;
    }
    void sync(ports::DiskTag, ports::DiskFile, std::uint64_t, std::vector<std::byte>) override {}
    void flush(ports::DiskTag, ports::DiskFile) override {}
    void commit(ports::DiskTag, ports::DiskFile, const ports::FileMetadata&) override {}
    void make_entry(ports::DiskTag, ports::Making) override {}
    void close(ports::DiskFile) override {}
    void submit() override {}
    std::span<ports::DiskEvent> poll() override {
        given_ = std::exchange(events_, {});
        return given_;
    }

  private:
    const std::uint32_t slots_;
    std::vector<std::byte> memory_;
    std::vector<ports::DiskEvent> events_, given_;
};

// The one file of the disk is announced; the receiver has nothing of it.
inline void announce_file(Source& source, ToldDisk& disk, simulation::ListWalker& walker) {
    walker.entries.push_back({.path = "file", .name = "file"});
    walker.no_more();
    source.turn();
    for (ports::DiskEvent& event : disk.poll()) source.handle(std::move(event));
    source.turn();
    source.handle_nothing();
    source.turn();
}

}  // namespace lambda::transfer::testing
