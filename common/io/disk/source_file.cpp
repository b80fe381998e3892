#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"
#include "common/io/file/open_file.h"
#include "common/io/file/page_cache.h"
#include "common/io/file/read_full.h"
#include "common/io/file/source_names.h"
#include "common/io/file/storage.h"
#include "common/io/file/virtual_file.h"

namespace lambda::io {
namespace {

// As many as a FILE record names (docs/protocol.md §7). Beyond it the rest counts as data.
constexpr std::size_t kMostRanges = 16384;
constexpr blkcnt_t kStatBlock = 512;  // bytes; st_blocks counts them, whatever the file system's

// Within `bytes`, counted from their first. A hole is what whole grains of it are hole.
std::vector<Range> data_ranges(int fd, Range bytes, std::uint64_t grain) {
    const std::uint64_t size = bytes.length();
    std::vector<Range> ranges;
    std::uint64_t at = 0;
    while (at < size) {
        const off_t data = ::lseek(fd, static_cast<off_t>(bytes.first + at), SEEK_DATA);
        if (data < 0 && errno == ENXIO) break;  // nothing but hole from here on
        const std::uint64_t start = data < 0 ? at : static_cast<std::uint64_t>(data) - bytes.first;
        if (start >= size) break;
        const off_t hole = data < 0 ? -1 : ::lseek(fd, data, SEEK_HOLE);
        // No hole behind the data: it was punched in between, or the file system knows none.
        const bool known = hole > data;
        const std::uint64_t end =
            known ? std::min(static_cast<std::uint64_t>(hole) - bytes.first, size) : size;
        const Range range{start / grain * grain, std::min((end + grain - 1) / grain * grain, size)};
        if (!ranges.empty() && range.first <= ranges.back().last) {
            ranges.back().last = std::max(ranges.back().last, range.last);
        } else {
            ranges.push_back(range);
        }
        if (ranges.size() == kMostRanges) {
            ranges.back().last = size;
            break;
        }
        at = std::max(end, range.last);
    }
    return ranges;
}

OpenedSource zeros(const std::string& path, std::uint64_t size) {
    OpenedSource opened;
    opened.metadata = {size, 0, 0644};
    if (size > 0) opened.data = {{0, size}};
    if (size < ports::kSmallFile) {
        opened.content.emplace(size, std::byte{});
        return opened;
    }
    opened.file = std::make_shared<OpenFile>();
    opened.file->kind = OpenFile::Kind::zeros;
    opened.file->path = path;
    opened.file->size = size;
    return opened;
}

Error not_a_file(const std::string& path, mode_t mode) {
    return Error{.fault = Fault::file,
                 .message = S_ISDIR(mode) ? "cannot read: it is a directory"
                                          : "cannot read: it is no regular file",
                 .path = path,
                 .side = Side::local,
                 .remedy = {}};
}

// The kernel answers EAGAIN in place of waiting, where io_uring reads a file with O_NONBLOCK.
bool let_wait(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

Descriptor open_direct(const SourceNames& names, const ports::SourceFile& file, int flags,
                       const struct stat& original) {
    auto opened = names.open(file, flags | O_DIRECT);
    struct stat status {};
    if (!opened || ::fstat(opened->get(), &status) != 0 || !same_file(status, original) ||
        !let_wait(opened->get())) {
        return {};
    }
    return std::move(*opened);
}

bool unchanged(const struct stat& before, const struct stat& now) {
    return before.st_size == now.st_size &&
           nanoseconds_of(before.st_mtim) == nanoseconds_of(now.st_mtim);
}

// Of /proc, /sys and programs.
Error made_as_read(const std::string& path, const std::string& what) {
    return Error{.fault = Fault::file,
                 .message = "cannot read: it has " + what,
                 .path = path,
                 .side = Side::local,
                 .remedy = "write what it gives into a file first"};
}

// All of a small file, or of a small range; nothing where the file changed meanwhile.
Result<std::optional<Bytes>> read_whole(int fd, const struct stat& status, Range bytes,
                                        const std::string& path) {
    Bytes content(static_cast<std::size_t>(bytes.length()));
    const FullRead read = read_full(fd, content, bytes.first);
    if (read.error_number != 0) return file_error("cannot read", path, read.error_number);
    struct stat again {};
    if (::fstat(fd, &again) != 0) return file_error("cannot look at", path, errno);
    if (!unchanged(status, again)) return std::optional<Bytes>();
    if (read.length < content.size())
        return made_as_read(path, "less content than its file system says");
    return std::optional(std::move(content));
}

// Files of /proc, and of programs, that are made as they are read: their size is said to be 0. Not
// one that was written to a moment ago, which read_whole() finds.
Result<void> check_empty(int fd, const std::string& path) {
    char byte = 0;
    const ssize_t got = ::pread(fd, &byte, 1, 0);
    if (got < 0) return file_error("cannot read", path, errno);
    struct stat status {};
    if (got == 0 || ::fstat(fd, &status) != 0 || status.st_size > 0) return {};
    return made_as_read(path, "content, and its file system says that it has none");
}

bool is_hole(int fd, const struct stat& status, Range bytes) {
    const bool whole = bytes.length() == static_cast<std::uint64_t>(status.st_size);
    if (bytes.empty() || (whole && status.st_blocks > 0)) return false;
    const off_t data = ::lseek(fd, static_cast<off_t>(bytes.first), SEEK_DATA);
    return data < 0 ? errno == ENXIO : static_cast<std::uint64_t>(data) >= bytes.last;
}

Error range_error(const std::string& path, std::string message, std::string remedy) {
    return Error{.fault = Fault::file,
                 .message = std::move(message),
                 .path = path,
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

Error changed_error(const std::string& path) {
    return range_error(path, "the file changed since its ranges were planned",
                       "look at it again, and begin anew");
}

// Of the file as it stands.
Result<Range> bytes_of(const struct stat& status, const std::optional<FileRange>& range,
                       const std::string& path) {
    const FileVersion now{.size = static_cast<std::uint64_t>(status.st_size),
                          .mtime_ns = nanoseconds_of(status.st_mtim),
                          .id = status.st_ino};
    if (!range) return Range{0, now.size};
    if (range->version && !range->version->same_as(now)) return changed_error(path);
    if (range->bytes.first >= now.size)
        return range_error(path, "the range begins behind the end of the file",
                           "it has " + std::to_string(now.size) + " bytes");
    return Range{range->bytes.first, std::min(range->bytes.last, now.size)};
}

}  // namespace

Result<OpenedSource> open_source(const SourceNames& names, const ports::SourceFile& wanted,
                                 std::uint64_t grain, const std::optional<FileRange>& range) {
    LAMBDA_ASSERT(grain > 0);
    const std::string& path = wanted.path;
    if (const auto virtual_one = virtual_file(names.root(), path)) {
        if (range) return range_error(path, "it has no ranges", "move all of it");
        if (virtual_one->kind == VirtualFile::Kind::zeros) return zeros(path, virtual_one->size);
        return not_a_file(path, S_IFCHR);
    }
    // Without O_NONBLOCK a pipe would hold the thread until somebody writes to it.
    constexpr int flags = O_RDONLY | O_NONBLOCK;
    auto opened = names.open(wanted, flags);
    if (!opened) return opened.error();
    const int fd = opened->get();
    struct stat status {};
    if (::fstat(fd, &status) != 0) return file_error("cannot look at", path, errno);
    if (!S_ISREG(status.st_mode)) return not_a_file(path, status.st_mode);

    OpenedSource source;
    auto metadata = metadata_of({.descriptor = fd}, status, wanted.archive, path);
    if (!metadata) return metadata.error();
    source.metadata = *std::move(metadata);
    const auto wanted_bytes = bytes_of(status, range, path);
    if (!wanted_bytes) return wanted_bytes.error();
    const Range bytes = *wanted_bytes;
    source.metadata.size = bytes.length();
    if (source.metadata.size < ports::kSmallFile) {
        if (is_hole(fd, status, bytes)) {
            source.content.emplace();
            return source;
        }
        if (status.st_size == 0) {
            if (const auto empty = check_empty(fd, path); !empty) return empty.error();
        }
        auto content = read_whole(fd, status, bytes, path);
        if (!content) return content.error();
        if (!*content) {
            return Error{.fault = Fault::file,
                         .message = "the file changed while it was read",
                         .path = path,
                         .side = Side::local,
                         .remedy = "run the transfer again when nobody writes it"};
        }
        source.content = **std::move(content);
        if (source.metadata.size > 0) source.data = {{0, source.metadata.size}};
        return source;
    }
    if (!let_wait(fd)) return file_error("cannot open", path, errno);
    source.file = std::make_shared<OpenFile>();
    source.file->path = path;
    source.file->follow = wanted.follow;
    source.file->named = wanted.named;
    source.file->plain = std::move(*opened);
    source.file->size = static_cast<std::uint64_t>(status.st_size);
    if (range) source.file->bytes = bytes;
    source.id = status.st_ino;
    source.ctime_ns = nanoseconds_of(status.st_ctim);
    source.file->storage = storage_of(source.file->plain);
    const bool in_memory = source.file->storage == Storage::memory;
    // Memory looks for its holes page by page, 6 ms for each GB: not where no page is missing.
    const bool solid = in_memory && status.st_blocks * kStatBlock >= status.st_size;
    source.data = solid ? std::vector{Range{0, bytes.length()}} : data_ranges(fd, bytes, grain);
    if (bytes.length() >= kDirectSource && !in_memory && !mostly_cached(fd, bytes)) {
        source.file->direct = open_direct(names, wanted, flags, status);
    }
    if (!source.file->direct) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return source;
}

Result<SecondLook> look_again(const SourceNames& names, const OpenFile& source) {
    if (source.kind == OpenFile::Kind::zeros) return SecondLook{.size = source.size};
    struct stat status {};
    if (::fstat(source.plain.get(), &status) != 0) {
        return file_error("cannot look at", source.path, errno);
    }
    auto size = static_cast<std::uint64_t>(status.st_size);
    if (!source.bytes.empty()) {
        if (size != source.size) return changed_error(source.path);
        size = source.bytes.length();
    }
    const auto removed =
        names.left({.path = source.path, .follow = source.follow, .named = source.named}, status);
    if (!removed) return removed.error();
    return SecondLook{.size = size,
                      .mtime_ns = nanoseconds_of(status.st_mtim),
                      .ctime_ns = nanoseconds_of(status.st_ctim),
                      .removed = *removed};
}

}  // namespace lambda::io
