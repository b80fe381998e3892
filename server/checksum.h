// CKSM: the digest of a file, or of a range of it as if it were a file of its own
// (docs/protocol.md §7). Blocking, for as long as reading takes: for a worker thread.
#pragma once

#include <atomic>
#include <string>

#include "common/base/result.h"
#include "common/io/root.h"
#include "common/session/command.h"

namespace lambda::server {

// 32 hex digits. A read error, an end before the range's, and a size that changed are errors, and
// so is `stop`, which is asked once a leaf; `bytes_read` counts for those who watch.
Result<std::string> checksum(const session::ChecksumRequest& request, const io::Root& root,
                             const std::atomic<bool>& stop, std::atomic<std::uint64_t>& bytes_read);

}  // namespace lambda::server
