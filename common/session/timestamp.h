// Time values of RFC 3659 §2.3: YYYYMMDDHHMMSS and a fraction of up to 9 digits, UTC; and the form
// that users see. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lambda::session {

// Nanoseconds since 1970, also before it; always with 9 digits.
std::string format_timestamp(std::int64_t time_ns);
// Nothing for a malformed one or one beyond 64 bits of nanoseconds (1677 to 2262).
std::optional<std::int64_t> parse_timestamp(std::string_view text);

// The same by RFC 3339: "2009-02-13T23:31:30.123456789Z".
std::string format_rfc3339(std::int64_t time_ns);

}  // namespace lambda::session
