// Bytes as hex digits. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/cursor.h"

namespace lambda {

// In lower case.
std::string to_hex(ByteView bytes);
std::string hex_of(char byte);
// False where `text` is not exactly out.size() bytes in hex digits of either case.
bool parse_hex(std::string_view text, ByteSpan out);
// Whether it holds nothing else than what to_hex() writes.
bool all_hex(std::string_view text);

}  // namespace lambda
