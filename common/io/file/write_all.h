// Writes that go on until all is written.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/cursor.h"
#include "common/base/file_range.h"
#include "common/base/result.h"

namespace lambda::io {

// From the offset `at` of the file. `what` went wrong, for messages.
Result<void> write_all(int fd, ByteView content, const std::string& path, std::uint64_t at = 0,
                       const char* what = "cannot write");
Result<void> write_zeros(int fd, Range bytes, const std::string& path);

}  // namespace lambda::io
