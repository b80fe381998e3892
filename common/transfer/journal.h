// What of a file that is being received is durable, so that a transfer that was cut goes on where
// it was. The journal lies beside the partial file and holds two slots, written in turn, each a
// whole image with a sequence number and a checksum: a torn write costs what was new in it, nothing
// older, nothing has to be compacted, and its size has a bound. An image may be written only after
// the data that it names was flushed. It is a hint, never a proof: what is kept is compared with
// the source, leaf by leaf, before the file gets its name. Pure.
//
// An image: magic u64 ‖ sequence u64 ‖ size u64 ‖ mtime_ns i64 ‖ id u64 ‖ layout u64 ‖ count u32 ‖
// count × (first u64 ‖ last u64) ‖ XXH3-64 of all before, u64; big-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/cursor.h"
#include "common/base/interval_set.h"
#include "common/transfer/record.h"

namespace lambda::transfer {

// Which source a partial file is of. Another one, or one that changed, starts again.
struct SourceIdentity {
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::uint64_t id = 0;      // of the file at the source: its inode
    std::uint64_t layout = 0;  // of where it has data
    bool operator==(const SourceIdentity&) const = default;
};
SourceIdentity identity_of(const FileRecord& record);

// A file of one leaf is done or not: it has no journal, and no sender waits to hear of one.
constexpr bool keeps_journal(std::uint64_t size) {
    return size > kLeafBytes;
}

class Journal {
  public:
    static constexpr std::size_t kSlotBytes = 512 * 1024;
    static constexpr std::size_t kMaxBytes = 2 * kSlotBytes;  // of the file

    // Holes count as durable.
    explicit Journal(const FileRecord& record);

    // Whether a journal is of this source.
    static bool fits(ByteView file, const SourceIdentity& identity);
    // Takes over what the newest sound image of this source says. False: there is none.
    bool take_up(ByteView file);

    // Written, not flushed. Only whole leaves ever count.
    void add_written(Range offsets) { written_.insert(offsets); }
    // It was not what it should be: no longer durable.
    void forget(Range offsets);
    // What to write once all that was written until now is flushed, and where; nothing where no
    // leaf is new. One at a time: each is ended before the next.
    struct Image {
        std::uint64_t offset = 0;
        std::vector<std::byte> bytes;
    };
    std::optional<Image> begin_sync();
    void end_sync();

    // Durable, in whole `unit`s of file offset; at most kMaxDataRanges ranges.
    std::vector<Range> durable(std::uint64_t unit) const;

  private:
    Range whole(Range offsets, std::uint64_t unit) const;
    std::vector<std::byte> encode(const IntervalSet& ranges) const;

    const SourceIdentity identity_;
    std::uint64_t sequence_ = 0;
    IntervalSet durable_, written_, syncing_;
};

}  // namespace lambda::transfer
