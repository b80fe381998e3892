#include "common/io/file/read_full.h"

#include <unistd.h>

#include <cerrno>

namespace lambda::io {

FullRead read_full(int fd, ByteSpan into, std::uint64_t at) {
    FullRead read;
    while (read.length < into.size()) {
        const ssize_t got = ::pread(fd, into.data() + read.length, into.size() - read.length,
                                    static_cast<off_t>(at + read.length));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) read.error_number = errno;
        if (got <= 0) break;
        read.length += static_cast<std::size_t>(got);
    }
    return read;
}

}  // namespace lambda::io
