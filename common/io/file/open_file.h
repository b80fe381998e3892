// One file that a disk has open, and what is done to its name. All of it may block for seconds
// (fsync, a network file system): worker threads only. One thread at a time for each file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/file_range.h"
#include "common/base/time.h"
#include "common/io/disk/open_queue.h"
#include "common/io/file/root.h"
#include "common/io/file/storage.h"
#include "common/ports/disk.h"

namespace lambda::io {

class SourceNames;

struct OpenFile {
    enum class Kind {
        source,
        partial,   // a target under its temporary name
        range,     // a target that is a range of the file on a stage
        in_place,  // a target that is a device: written where it is
        zeros,     // virtual source
        null,      // virtual target
    };
    OpenQueue::Held held;  // of a disk's file; first, since it goes behind what is open
    Kind kind = Kind::source;
    std::string path;                       // as it was asked for
    bool follow = true;                     // source: links at the end of it
    std::size_t named = std::string::npos;  // source: as in SourceFile
    Descriptor plain;                       // through the page cache
    Descriptor direct;                      // O_DIRECT on the same file; not where that is no gain
    Storage storage = Storage::disk;
    std::uint64_t size = 0;  // of a source when it was opened, of a target as it was announced
    // Of a range: the file's bytes that are meant, whose first is the transfer's byte 0. `size` is
    // that of all of a source then, and kToTheEnd of a target. Else empty.
    Range bytes{};
    bool set_id = false;         // partial: gives_set_id()
    const Root* root = nullptr;  // partial: below which it is; outlives it
    Root::Place place;           // partial: where it gets its name
    std::string partial;         // the temporary name in that directory; empty: nothing to remove
    Descriptor journal;          // of a partial file, once there is one
    Time journal_flushed{};
    bool locked = false;  // partial: it may be kept, since nobody else writes it
    bool keep = false;    // the partial file and its journal are for a later transfer ...
    // ... but where it was closed: said apart, since a worker that flushes it may say `keep` later.
    bool dropped = false;

    OpenFile() = default;
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile();  // removes the partial file, unless it is to be kept
};

struct OpenedSource {
    std::shared_ptr<OpenFile> file;  // nothing where the content is here
    ports::FileMetadata metadata;
    std::uint64_t id = 0;          // see ports::DiskEvent
    std::int64_t ctime_ns = 0;     // likewise
    std::vector<Range> data;       // likewise
    std::optional<Bytes> content;  // of a small file; empty: it is a hole
};

// Regular files only. A small one is read, looked at again, and closed. `range`: of it, as if
// nothing else were there; one that begins behind the file's end is an error.
Result<OpenedSource> open_source(const SourceNames& names, const ports::SourceFile& source,
                                 std::uint64_t grain, const std::optional<FileRange>& range = {});
// What an open source is now, and whether its name still shows it; as ports::DiskEvent says.
struct SecondLook {
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0, ctime_ns = 0;
    bool removed = false;
};
Result<SecondLook> look_again(const SourceNames& names, const OpenFile& source);

struct CreatedTarget {
    std::shared_ptr<OpenFile> file;
    std::vector<std::byte> journal;  // of the partial file that was kept
};

// Makes missing directories and the partial file, locked where its file system has locks. A link
// that the user named is followed to the place it shows; one that stands below that is replaced by
// the rename. A device keeps what it held: there the holes are filled with zeros; and what a
// partial file that is gone on with has where the source has none is emptied, since nobody compares
// it.
Result<CreatedTarget> create_target(const Root& root, const ports::TargetName& name,
                                    std::uint64_t size, const std::vector<Range>& holes,
                                    const ports::Disk::Keep& keep);
// A partial file's name, and that of its journal, become free: nobody writes there, or it is an
// error.
Result<void> free_partial(int directory, const std::string& partial, const std::string& path);
// As ports::Disk says.
bool find_partials(const Root& root, const std::string& path, bool below);
Result<void> sync(OpenFile& target, std::uint64_t offset, ByteView image);
Result<void> flush(OpenFile& target);

// The journal beside a partial file that is ours by its lock; empty where there is none that could
// have been written by this program.
std::vector<std::byte> open_journal(OpenFile& target);
void remove_journal(OpenFile& target);
// Size, metadata, fsync, rename, fsync of the directory, which must still be where the name leads.
// After an error nothing stands under the final name but what stood there before; but where the
// last of it failed, which the message says: then it is there, whole, and a crash may take the name
// back. False: its owner could not be set.
inline constexpr char kNamedNotFlushed[] = "it has its name, but cannot flush its directory";
Result<bool> commit(OpenFile& target, const ports::FileMetadata& metadata);

}  // namespace lambda::io
