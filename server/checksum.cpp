#include "server/checksum.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "common/transfer/digest.h"

namespace lambda::server {
namespace {

Error failed(Fault fault, std::string message, const std::string& path) {
    return Error{.fault = fault,
                 .message = std::move(message),
                 .path = path,
                 .side = Side::local,
                 .remedy = {}};
}

// Fills `into` from `offset` on.
Result<void> read_all(int fd, ByteSpan into, std::uint64_t offset, const std::string& path) {
    while (!into.empty()) {
        const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno_error(Fault::file, "cannot read", path, errno);
        if (got == 0) return failed(Fault::file, "the file shrank while it was read", path);
        into = into.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
    return {};
}

}  // namespace

Result<std::string> checksum(const session::ChecksumRequest& request, const io::Root& root,
                             const std::atomic<bool>& stop,
                             std::atomic<std::uint64_t>& bytes_read) {
    const Result<io::Descriptor> file = root.open(request.path, O_RDONLY | O_NONBLOCK);
    if (!file) return file.error();
    struct stat status {};
    if (::fstat(file->get(), &status) != 0) {
        return errno_error(Fault::file, "cannot look at", request.path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return failed(Fault::file, "not a regular file", request.path);
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (request.offset > size || request.length.value_or(0) > size - request.offset) {
        return failed(Fault::usage, "the range ends behind the file's end", request.path);
    }
    const std::uint64_t length = request.length.value_or(size - request.offset);
    transfer::FileDigest digest(length);
    std::vector<std::byte> leaf(std::min(length, transfer::kLeafBytes));
    for (std::uint64_t at = 0; at < length; at += leaf.size()) {
        if (stop.load()) return failed(Fault::cut, "the checksum was stopped", request.path);
        leaf.resize(std::min(transfer::kLeafBytes, length - at));
        if (auto got = read_all(file->get(), leaf, request.offset + at, request.path); !got) {
            return got.error();
        }
        digest.add_leaf(at, transfer::leaf_digest(leaf));
        bytes_read += leaf.size();
    }
    struct stat after {};
    if (::fstat(file->get(), &after) != 0 || after.st_size != status.st_size) {
        return failed(Fault::file, "the file changed while it was read", request.path);
    }
    return transfer::to_hex(digest.finish());
}

}  // namespace lambda::server
