// The disk seam: block slots, reads and writes into them, and the few operations on names that a
// transfer needs. Every request is asynchronous: it ends in exactly one DiskEvent with its tag.
// The disk owns the slots; who moves data in one owns it until the event. Engine thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/cursor.h"
#include "common/base/hex.h"
#include "common/base/interval_set.h"
#include "common/base/result.h"
#include "common/ports/attributes.h"

namespace lambda::ports {

// Direct I/O moves whole pages; slots and the room behind the last byte of a file allow for it.
constexpr std::size_t kDiskAlignment = 4096;
// A block is read in pieces, so that the disk has several at once even where blocks come one by
// one; and written in larger ones: a disk with many blocks to write has enough of them, and each
// costs.
constexpr std::uint32_t kDiskPieceBytes = 256 * 1024;
constexpr std::uint32_t kDiskWriteBytes = 1024 * 1024;
static_assert(kDiskPieceBytes % kDiskAlignment == 0 && kDiskWriteBytes % kDiskAlignment == 0);
// Smaller files are read and made whole, many at a time.
constexpr std::uint64_t kSmallFile = 64 * 1024;

using DiskFile = std::uint32_t;
using DiskTag = std::uint64_t;

struct DiskEvent {
    DiskTag tag = 0;
    std::optional<Error> error{};  // with path and cause; the other fields are then unset
    DiskFile file = 0;             // open_source, create_target
    std::uint64_t bytes = 0;       // read: may be short only at the end of the file; write: all
    std::uint64_t size = 0;        // open_source, check_source
    std::int64_t mtime_ns = 0;     // open_source, check_source; since 1970, may be negative
    std::int64_t ctime_ns =
        0;                   // likewise: when anything of the file was changed, which nobody sets
    bool removed = false;    // check_source: its name shows it no more
    std::uint32_t mode = 0;  // open_source: permission bits
    std::uint64_t id = 0;    // open_source: tells the file from others, for its whole life
    bool found = false;      // find_partials
    // create_target: the journal of the partial file that was kept; empty where none was.
    std::vector<std::byte> journal{};
    std::optional<Archived> archived{};  // open_source, where it was asked for
    // open_source of a file below kSmallFile: all of it. It was looked at a second time and closed:
    // `file` is unset.
    std::optional<Bytes> content{};
    bool unowned = false;    // commit, make_entry: the owner could not be set
    bool returned = false;   // make_entry: not its end, only the slot's (Making::returns)
    bool in_memory = false;  // open_source: reading it costs a copy, and no waiting for a disk
    // open_source: where there is data, in units of whole `grain`s of file offset; the rest is
    // hole.
    std::vector<Range> data{};
};

// Whether a disk gives such a name to what it keeps beside a target while it is received
// (".lambda-HASH.part" and ".journal"; ".parts" and ".ranges" on a stage). Nothing that is moved
// may be called so: it would land in the place of another file's parts.
inline bool is_partial_name(std::string_view leaf) {
    constexpr std::string_view kBegin = ".lambda-";
    constexpr std::size_t kHash = 32;
    if (!leaf.starts_with(kBegin) || leaf.size() < kBegin.size() + kHash) return false;
    const std::string_view end = leaf.substr(kBegin.size() + kHash);
    return (end == ".part" || end == ".journal" || end == ".parts" || end == ".ranges") &&
           all_hex(leaf.substr(kBegin.size(), kHash));
}

struct SourceFile {
    std::string path;
    bool follow = true;    // a link at its end
    bool archive = false;  // owner and extended attributes too
    // So many bytes of the path were named by the user. A walk found the rest: no link in that is
    // followed, whoever put it there since.
    std::size_t named = std::string::npos;
    // Of one that was found under several names, as DiskEvent::id: another file is an error, since
    // it would get all of them.
    std::optional<std::uint64_t> id{};
};

// Where something lands: `base` was named by the user, and links in it are followed; no component
// of `below`, which came from the peer or from a walk, is ever followed. Empty `below`: `base`
// itself.
struct TargetName {
    std::string base;
    std::string below;

    // For messages, and where nothing can be a link.
    std::string text() const {
        if (below.empty()) return base;
        if (base.empty()) return below;
        return base.back() == '/' ? base + below : base + "/" + below;
    }
};

// XXH3-128 of some bytes.
using ContentDigest = std::array<std::byte, 16>;

// Something to be made whole, in one step.
struct Making {
    enum class Kind {
        file,  // below kSmallFile, of `bytes` bytes in a slot (the rest up to its size is hole)
        directory,  // writable for us; one that stands there serves
        settle,     // a directory's metadata, once nothing in it is made any more
        link,       // that shows `text`
        same,       // another name of `first`
    };
    Kind kind = Kind::file;
    TargetName name{};
    FileMetadata metadata{};
    std::string text{};
    bool replaces = false;  // directory: what is none goes for it
    TargetName first{};
    std::uint32_t slot = 0;
    std::uint32_t at = 0;
    std::uint32_t bytes = 0;
    // file: its slot, and that of all files asked for before, is needed no more long before they
    // are durable. An event of its own may say so. Not with `expected`.
    bool returns = false;
    // file: of those bytes. They are read again past the page cache before the file gets its name,
    // and written again, a few times, where they differ; then it is an Error of Fault::integrity.
    std::optional<ContentDigest> expected{};
};

class Disk {
  public:
    virtual ~Disk() = default;

    virtual std::uint32_t slot_count() const = 0;
    virtual ByteSpan slot(std::uint32_t index) = 0;  // one block, aligned to kDiskAlignment

    // A regular file to read. `grain` is the leaf size, to which holes are rounded inwards.
    virtual void open_source(DiskTag tag, const SourceFile& file, std::uint64_t grain) = 0;
    // Reads [offset, offset+bytes) of the file to `at` in the slot. False: the queue is full,
    // or what was read from memory last was not polled yet; try later.
    virtual bool read(DiskTag tag, DiskFile file, std::uint64_t offset, std::uint32_t slot,
                      std::size_t at, std::size_t bytes) = 0;
    // Of a source `in_memory`: a read would copy at once, on this thread.
    virtual bool copies_here(DiskFile file) = 0;
    // A second look at size, mtime and ctime, on the open file.
    virtual void check_source(DiskTag tag, DiskFile file) = 0;

    // Whether a partial file that was cut, or a journal, stands there for `path`, unless `below` is
    // set, or anywhere below the directory `path`. May say so where there is too much to look at.
    virtual void find_partials(DiskTag tag, const std::string& path, bool below) = 0;
    // The partial file beside `name` (or `name` itself where it is no regular file), locked, with
    // missing parent directories made. One that a cut transfer left is kept where it has a journal
    // and `keep`, called on any thread, says of that yes; else it is made anew and the journal
    // goes. It may be read, too. `holes` are not written: they read as zeros from the start.
    using Keep = std::function<bool(ByteView journal)>;
    virtual void create_target(DiskTag tag, const TargetName& name, std::uint64_t size,
                               std::vector<Range> holes, Keep keep) = 0;
    // False: the queue is full, or enough was written into memory since the last poll(); try later.
    // The slot's bytes past `bytes`, up to the next kDiskAlignment, may be written too, and must be
    // writable where offset + bytes is the end of the file.
    virtual bool write(DiskTag tag, DiskFile file, std::uint64_t offset, std::uint32_t slot,
                       std::size_t at, std::size_t bytes) = 0;
    // Flushes what was written until now, then puts `image` into the file's journal at `offset`,
    // which is flushed now and then. From then on the partial file stays when the transfer is cut.
    virtual void sync(DiskTag tag, DiskFile file, std::uint64_t offset,
                      std::vector<std::byte> image) = 0;
    // Flushes what was written until now, so that what is then read of it comes from the disk, past
    // the page cache as far as the file system can. An error for what cannot be read again.
    virtual void flush(DiskTag tag, DiskFile file) = 0;
    // Metadata; flush; rename over the name; flush of the directory. Closes the file.
    virtual void commit(DiskTag tag, DiskFile file, const FileMetadata& metadata) = 0;

    // Begun in the order of the calls. The event comes when it is durable under its name (a
    // `directory`: when it is made), and batches share what that costs. The slot is the disk's
    // until then, or until it is returned.
    virtual void make_entry(DiskTag tag, Making making) = 0;

    // Closes a source; closes and removes a partial file and its journal. No event. What is in
    // flight on it must have ended.
    virtual void close(DiskFile file) = 0;

    // Hands what was queued to the machine. Once for each turn of the engine. What lies in memory
    // may have ended before.
    virtual void submit() = 0;
    // What has ended since the last call; valid until the next, for the caller to move from.
    virtual std::span<DiskEvent> poll() = 0;
};

}  // namespace lambda::ports
