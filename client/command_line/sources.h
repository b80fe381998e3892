// Lists of sources and of patterns that stand in files.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace lambda::client {

// "-": standard input. Errors are Fault::usage; more than `most` bytes are one.
constexpr std::size_t kMostOfAList = 256 << 20;
Result<std::string> read_whole_file(const std::string& file, std::size_t most = kMostOfAList);
// One name a line, or each ended by a NUL where there is one; empty ones are none. Raw bytes. A
// CR before the line's end is of the name, unless each line has one.
std::vector<std::string> names_in(const std::string& content);

}  // namespace lambda::client
