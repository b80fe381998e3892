#include "server/checksum.h"

#include <fcntl.h>

#include <new>
#include <utility>

#include "common/io/process.h"
#include "common/verify/checksum.h"

namespace lambda::server {

Result<std::string> checksum(const session::ChecksumRequest& request, verify::Algorithm algorithm,
                             const io::Root& root, std::function<bool()> stopped,
                             std::atomic<std::uint64_t>& bytes_read) try {
    const Result<io::Descriptor> file = root.open(request.path, O_RDONLY | O_NONBLOCK);
    if (!file) return file.error();
    return verify::checksum({.fd = file->get(),
                             .path = request.path,
                             .algorithm = algorithm,
                             .offset = request.offset,
                             .length = request.length,
                             .stopped = std::move(stopped),
                             .bytes_read = &bytes_read});
} catch (const std::bad_alloc&) {
    return io::no_memory("cannot read " + request.path);
}

}  // namespace lambda::server
