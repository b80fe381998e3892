// One file that a disk has open, and what is done to its name. All of it may block for seconds
// (fsync, a network file system): worker threads only. One thread at a time for each file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/io/root.h"
#include "common/ports/disk.h"

namespace lambda::io {

// Smaller files gain nothing from direct I/O: they are packed with others, at odd offsets.
constexpr std::uint64_t kDirectSource = 1 << 20;
constexpr std::uint64_t kDirectTarget = 64 << 10;

struct OpenFile {
    enum class Kind {
        source,
        partial,   // a target under its temporary name
        in_place,  // a target that is a device: written where it is
        zeros,     // virtual source
        null,      // virtual target
    };
    Kind kind = Kind::source;
    std::string path;        // as it was asked for
    Descriptor plain;        // through the page cache
    Descriptor direct;       // O_DIRECT on the same file, where it pays
    std::uint64_t size = 0;  // of a source when it was opened, of a target as it was announced
    Root::Place place;       // partial: where it gets its name
    std::string partial;     // the temporary name in that directory; empty: nothing to remove

    OpenFile() = default;
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile();  // removes the partial file
};

struct OpenedSource {
    std::shared_ptr<OpenFile> file;
    ports::FileMetadata metadata;
    std::vector<Range> data;  // see ports::DiskEvent
};

// Regular files only.
Result<OpenedSource> open_source(const Root& root, const std::string& path, std::uint64_t grain);
// Size and mtime of an open source now.
Result<ports::FileMetadata> look_again(const OpenFile& source);

// Makes missing directories and the locked partial file. A link is followed to the place it shows.
Result<std::shared_ptr<OpenFile>> create_target(const Root& root, const std::string& path,
                                                std::uint64_t size);
// Size, mode, mtime, fsync, rename, fsync of the directory. After an error nothing stands under the
// final name but what stood there before.
Result<void> commit(OpenFile& target, const ports::FileMetadata& metadata);

// An Error of a file with the remedy that fits the errno.
Error file_error(const std::string& what, const std::string& path, int error_number);

// The name of the partial file of `leaf`, in the same directory: ".lambda-<XXH3-128 in hex>.part".
std::string partial_name(const std::string& leaf);

// Whether direct I/O may pay on this file system: not where files live in memory.
bool direct_pays(const Descriptor& file);
bool same_file(const struct stat& a, const struct stat& b);

}  // namespace lambda::io
