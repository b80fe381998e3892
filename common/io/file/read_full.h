// Reads that go on until all is there.
#pragma once

#include <cstdint>

#include "common/base/cursor.h"

namespace lambda::io {

struct FullRead {
    std::size_t length = 0;  // less than was asked for: the file ends there, or the error came
    int error_number = 0;    // errno, of what stopped it
};

// From the offset `at` of the file.
FullRead read_full(int fd, ByteSpan into, std::uint64_t at);

}  // namespace lambda::io
