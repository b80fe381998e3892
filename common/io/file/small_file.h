// Files that are read whole: settings of a kind, passwords, marks. Blocking calls.
#pragma once

#include <cstddef>
#include <string>

#include "common/base/result.h"

namespace lambda::io {

// The whole file; nothing that is larger than `limit` bytes. A missing file is Fault::file with
// `missing` set.
Result<std::string> read_small_file(const std::string& path, std::size_t limit,
                                    bool* missing = nullptr);

}  // namespace lambda::io
