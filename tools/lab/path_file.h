// A path as YAML (docs/lab.md has the keys). Strict: what is unknown, out of range or impossible is
// refused with its place.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "tools/lab/path.h"

namespace lambda::lab {

// Errors (Fault::usage) read "FILE:LINE: KEY: what is wrong".
Result<PathSpec> parse_path(std::string_view text, const std::string& file);
Result<PathSpec> load_path(const std::string& file);

}  // namespace lambda::lab
