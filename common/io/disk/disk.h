// A disk as the engine's port: what may be asked of it, and its maker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/file_range.h"
#include "common/base/result.h"
#include "common/io/file/root.h"
#include "common/ports/disk.h"

namespace lambda::io {

class RangeClaim;
class Reactor;

struct DiskOptions {
    std::uint64_t memory_bytes = 176ull << 20;  // of slots, in all
    std::uint32_t block_bytes = 1u << 20;
    unsigned queue_depth = 64;
    bool allow_uring = true;
    // What arrives may wait while the engine's thread writes into memory.
    bool copies_writes = true;
    // Whether the engine's thread has too much to do, so that what lies in memory is read and
    // written by another one. Empty: by its load, by a rule for each (load_rules.h). Engine
    // thread.
    std::function<bool()> overloaded{};
    std::optional<FileRange> range{};     // of each source
    std::shared_ptr<RangeClaim> claim{};  // of the one target, in place of all others
};
// io_uring where it is allowed, else the thread pool, said once in the log. Slots are reserved, and
// touched and registered only when first used.
// `reactor` must outlive the disk. Partial files that are open when it is destroyed are removed.
Result<std::unique_ptr<ports::Disk>> make_disk(const DiskOptions& options, Root root,
                                               Reactor& reactor);

}  // namespace lambda::io
