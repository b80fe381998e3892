// The checksum of a file, or of a range of it as if it were a file of its own. Blocking, for as
// long as reading takes; up to kMostReaders threads read ahead, of 1 MiB each.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/verify/hash.h"

namespace lambda::verify {

constexpr unsigned kMostReaders = 4;

struct ChecksumJob {
    int fd = -1;       // open for reading, the caller's
    std::string path;  // for errors
    Algorithm algorithm = Algorithm::xxh3_128;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length{};             // nothing: to the end
    std::function<bool()> stopped;                     // any thread; asked once a piece
    std::atomic<std::uint64_t>* bytes_read = nullptr;  // for those who watch; may be null
};

// Hex digits. Errors: no regular file; Fault::usage, the range ends behind the file's end; a read
// that fails, of which nothing more is then read; a size or time that changed meanwhile;
// Fault::cut, stopped.
Result<std::string> checksum(const ChecksumJob& job);

}  // namespace lambda::verify
