// Whether a disk gives back what was written: for small files, that are made whole. Blocking:
// worker threads only.
#pragma once

#include <string>

#include "common/base/cursor.h"
#include "common/base/result.h"
#include "common/ports/disk.h"

namespace lambda::io {

// What was written to a file and flushed.
struct Written {
    int file = -1;                  // open for both
    ByteView content;               // what it should hold there; less than ports::kSmallFile
    ports::ContentDigest digest{};  // of `content`, as the sender took it
    std::string path;               // for messages
    std::uint64_t at = 0;           // where, a multiple of ports::kDiskAlignment
};

// How often what reads back different is written once more.
constexpr int kMostRewrites = 3;

// Reads it past the page cache, as far as the file system can. Fault::integrity: it differs each
// time; and errors of the disk.
Result<void> read_back(const Written& written);

}  // namespace lambda::io
