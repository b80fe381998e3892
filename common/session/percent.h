// Bytes that may not stand where they are meant, as '%' and two hex digits (RFC 3986 §2.1). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lambda::session {

// Each byte of which `plain` is false is escaped; `plain` must be false of '%'.
std::string percent_encode(std::string_view text, bool (*plain)(char));
// For a line of the control session: CR, LF and '%' alone.
std::string percent_encode_line(std::string_view text);
// Any byte may be escaped. Nothing where a '%' is not followed by two hex digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace lambda::session
