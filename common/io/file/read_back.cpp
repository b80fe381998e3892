#include "common/io/file/read_back.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "common/base/xxh3.h"
#include "common/io/file/file_error.h"
#include "common/io/file/write_all.h"

namespace lambda::io {
namespace {

struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
};
// Room for a small file and what direct I/O reads behind it.
std::unique_ptr<std::byte, Free> aligned_room() {
    std::unique_ptr<std::byte, Free> room(
        static_cast<std::byte*>(std::aligned_alloc(ports::kDiskAlignment, ports::kSmallFile)));
    if (room == nullptr) throw std::bad_alloc();
    return room;
}

ssize_t read_whole(int fd, std::byte* into, std::uint64_t at) {
    ssize_t got = 0;
    do {
        got = ::pread(fd, into, ports::kSmallFile, static_cast<off_t>(at));
    } while (got < 0 && errno == EINTR);
    return got;
}

// What the file holds there on the disk; -1 and errno.
ssize_t read_uncached(int fd, std::byte* into, std::uint64_t at) {
    // Also where direct I/O is understood: some file systems keep small files apart from blocks and
    // read them through the cache.
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    const int flags = ::fcntl(fd, F_GETFL);
    if (::fcntl(fd, F_SETFL, flags | O_DIRECT) == 0) {
        const ssize_t got = read_whole(fd, into, at);
        const int error_number = errno;
        ::fcntl(fd, F_SETFL, flags);
        errno = error_number;
        if (got >= 0 || errno != EINVAL) return got;
    }
    return read_whole(fd, into, at);
}

bool holds(const std::byte* bytes, const Written& written) {
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, written.content.size()));
    return std::memcmp(digest.digest, written.digest.data(), written.digest.size()) == 0;
}

}  // namespace

Result<void> read_back(const Written& written) {
    const auto room = aligned_room();
    for (int rewrites = 0;; ++rewrites) {
        const ssize_t got = read_uncached(written.file, room.get(), written.at);
        if (got < 0) return file_error("cannot read it back", written.path, errno);
        const bool whole = static_cast<std::size_t>(got) >= written.content.size();
        if (whole && holds(room.get(), written)) return {};
        if (rewrites == kMostRewrites) break;
        const auto again = write_all(written.file, written.content, written.path, written.at);
        if (!again) return again;
        if (::fsync(written.file) != 0) return file_error("cannot flush", written.path, errno);
    }
    return Error{.fault = Fault::integrity,
                 .message = "the disk gives back something else than was written, several times",
                 .path = written.path,
                 .side = Side::local,
                 .remedy = "test that disk and the machine's memory"};
}

}  // namespace lambda::io
