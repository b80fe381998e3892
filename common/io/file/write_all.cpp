#include "common/io/file/write_all.h"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <vector>

#include "common/io/file/file_error.h"

namespace lambda::io {
namespace {

constexpr std::uint64_t kZerosAtOnce = 1 << 20;

}  // namespace

Result<void> write_all(int fd, ByteView content, const std::string& path, std::uint64_t at,
                       const char* what) {
    for (std::size_t done = 0; done < content.size();) {
        const ssize_t written = ::pwrite(fd, content.data() + done, content.size() - done,
                                         static_cast<off_t>(at + done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return file_error(what, path, written < 0 ? errno : EIO);
        done += static_cast<std::size_t>(written);
    }
    return {};
}

Result<void> write_zeros(int fd, Range bytes, const std::string& path) {
    const std::vector<std::byte> zeros(std::min(kZerosAtOnce, bytes.length()));
    for (std::uint64_t at = bytes.first; at < bytes.last; at += zeros.size()) {
        const ByteView some = ByteView(zeros).first(std::min(kZerosAtOnce, bytes.last - at));
        if (const auto written = write_all(fd, some, path, at); !written) return written;
    }
    return {};
}

}  // namespace lambda::io
