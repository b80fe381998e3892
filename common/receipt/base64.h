// RFC 4648 §4, with padding. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/cursor.h"

namespace lambda::receipt {

std::string to_base64(ByteView bytes);
// Nothing for what to_base64() would not give.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace lambda::receipt
