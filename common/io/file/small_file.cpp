#include "common/io/file/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/io/file/root.h"

namespace lambda::io {
namespace {

constexpr std::size_t kFirstRead = 64 * 1024;

}  // namespace

Result<std::string> read_small_file(const std::string& path, std::size_t limit, bool* missing) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) {
        if (missing != nullptr) *missing = errno == ENOENT || errno == ENOTDIR;
        return errno_error(Fault::file, "cannot open", path, errno);
    }
    std::string content;
    std::size_t filled = 0;
    while (filled <= limit) {
        if (filled == content.size())
            content.resize(std::min(std::max(kFirstRead, 2 * filled), limit + 1));
        const ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno_error(Fault::file, "cannot read", path, errno);
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    if (filled > limit) {
        return Error{.fault = Fault::file,
                     .message = "larger than the " + std::to_string(limit) + " bytes allowed here",
                     .path = path,
                     .side = Side::local,
                     .remedy = {}};
    }
    content.resize(filled);
    return content;
}

}  // namespace lambda::io
