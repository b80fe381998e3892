// Where a file has data: nobody needs to read what is hole. A system call each; any thread.
#pragma once

#include <cstdint>

#include "common/base/interval_set.h"

namespace lambda::io {

// The first run of data that does not end before `at`, of a file of `size` bytes; empty, at `size`,
// where there is none. All of the rest, where the file system knows no holes.
Range next_data(int fd, std::uint64_t at, std::uint64_t size);

}  // namespace lambda::io
