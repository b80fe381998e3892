// Commands of the control session: a verb and its argument on a line, and the arguments of those
// verbs that are ours. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace lambda::session {

struct Command {
    std::string verb;      // upper case, 1 to 16 letters
    std::string argument;  // raw bytes behind the first blank; may be empty

    bool operator==(const Command&) const = default;
};

// `line` without its end, as LineFramer gives it. "PCT VERB argument" (docs/protocol.md §1) is VERB
// with its argument percent-decoded.
Result<Command> parse_command(std::string_view line);
// The line on the wire with its CR LF; by PCT where the argument holds a CR or LF and `verb` takes
// a path. What still cannot stand on a line is Fault::file where it is too long, else Fault::usage;
// the error has the path of the argument, and nothing else of it.
Result<std::string> format_command(const Command& command);

// JOIN token=T;stripe=I;epoch=E;
struct JoinRequest {
    std::string token;  // 32 hex digits, lower case
    std::uint16_t stripe = 0;
    std::uint32_t epoch = 1;

    bool operator==(const JoinRequest&) const = default;
};
std::string format_join(const JoinRequest& request);  // the argument
Result<JoinRequest> parse_join(std::string_view argument);

// CKSM algorithm offset length path
struct ChecksumRequest {
    std::string algorithm;                // lower case
    std::uint64_t offset = 0;             // bytes
    std::optional<std::uint64_t> length;  // nothing (-1 on the wire): to the end
    std::string path;

    bool operator==(const ChecksumRequest&) const = default;
};
std::string format_checksum(const ChecksumRequest& request);  // the argument
Result<ChecksumRequest> parse_checksum(std::string_view argument);

}  // namespace lambda::session
