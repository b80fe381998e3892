// The disk seam: block slots, reads and writes into them, and the few operations on names that a
// transfer needs. Every request is asynchronous: it ends in exactly one DiskEvent with its tag.
// The disk owns the slots; who moves data in one owns it until the event. Engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/cursor.h"
#include "common/base/interval_set.h"
#include "common/base/result.h"

namespace lambda::ports {

// Direct I/O moves whole pages; slots and the room behind the last byte of a file allow for it.
constexpr std::size_t kDiskAlignment = 4096;
// A block is read and written in pieces, so that the disk has several at once even where blocks
// come one by one.
constexpr std::uint32_t kDiskPieceBytes = 256 * 1024;
static_assert(kDiskPieceBytes % kDiskAlignment == 0);

using DiskFile = std::uint32_t;
using DiskTag = std::uint64_t;

struct DiskEvent {
    DiskTag tag = 0;
    std::optional<Error> error{};  // with path and cause; the other fields are then unset
    DiskFile file = 0;             // open_source, create_target
    std::uint64_t bytes = 0;       // read: may be short only at the end of the file; write: all
    std::uint64_t size = 0;        // open_source, check_source
    std::int64_t mtime_ns = 0;     // open_source, check_source; since 1970, may be negative
    std::uint32_t mode = 0;        // open_source: permission bits
    // open_source: where there is data, in units of whole `grain`s of file offset; the rest is
    // hole.
    std::vector<Range> data{};
};

struct FileMetadata {
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::uint32_t mode = 0;
};

class Disk {
  public:
    virtual ~Disk() = default;

    virtual std::uint32_t slot_count() const = 0;
    virtual ByteSpan slot(std::uint32_t index) = 0;  // one block, aligned to kDiskAlignment

    // A regular file to read. `grain` is the leaf size, to which holes are rounded inwards.
    virtual void open_source(DiskTag tag, const std::string& path, std::uint64_t grain) = 0;
    // Reads [offset, offset+bytes) of the file to `at` in the slot. False: the queue is full, try
    // later.
    virtual bool read(DiskTag tag, DiskFile file, std::uint64_t offset, std::uint32_t slot,
                      std::size_t at, std::size_t bytes) = 0;
    // A second look at size and mtime, on the open file.
    virtual void check_source(DiskTag tag, DiskFile file) = 0;

    // The partial file beside `path` (or `path` itself where it is no regular file), locked, with
    // missing parent directories made.
    virtual void create_target(DiskTag tag, const std::string& path, std::uint64_t size) = 0;
    // The slot's bytes past `bytes`, up to the next kDiskAlignment, may be written too, and must be
    // writable where offset + bytes is the end of the file.
    virtual bool write(DiskTag tag, DiskFile file, std::uint64_t offset, std::uint32_t slot,
                       std::size_t at, std::size_t bytes) = 0;
    // Size, mode, mtime; flush; rename over the name; flush of the directory. Closes the file.
    virtual void commit(DiskTag tag, DiskFile file, const FileMetadata& metadata) = 0;

    // Closes a source; closes and removes a partial file. No event. Reads and writes in flight on
    // it must have ended.
    virtual void close(DiskFile file) = 0;

    // Hands what was queued to the machine. Once for each turn of the engine.
    virtual void submit() = 0;
    // What has ended since the last call; valid until the next.
    virtual std::span<const DiskEvent> poll() = 0;
};

}  // namespace lambda::ports
