// CKSM: the checksum of a file, or of a range of it as if it were a file of its own
// (docs/protocol.md §1). Blocking, for as long as reading takes: for a worker thread.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "common/base/result.h"
#include "common/io/file/root.h"
#include "common/session/command.h"
#include "common/verify/hash.h"

namespace lambda::server {

// Hex digits; errors as verify::checksum() has them. `algorithm` is that of the request;
// `stopped`, asked once a piece by any thread, ends it; `bytes_read` counts for those who watch.
Result<std::string> checksum(const session::ChecksumRequest& request, verify::Algorithm algorithm,
                             const io::Root& root, std::function<bool()> stopped,
                             std::atomic<std::uint64_t>& bytes_read);

}  // namespace lambda::server
