#include "common/io/file/next_data.h"

#include <unistd.h>

#include <cerrno>

namespace lambda::io {

Range next_data(int fd, std::uint64_t at, std::uint64_t size) {
    const off_t first = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (first < 0) return errno == ENXIO ? Range{size, size} : Range{at, size};
    const off_t last = ::lseek(fd, first, SEEK_HOLE);
    return {static_cast<std::uint64_t>(first), last < 0 ? size : static_cast<std::uint64_t>(last)};
}

}  // namespace lambda::io
