// SIGN: the client of a transfer that has come to its end asks for the server's signature under the
// account that both kept (docs/protocol.md §13). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace lambda::session {

struct SignRequest {
    std::uint64_t files = 0;            // that have a line
    std::array<std::byte, 32> lines{};  // SHA-256 of all lines
    std::string server;                 // how the client calls it
    std::string destination;            // get: where the files landed at the client, else empty
    bool into_directory = false;        // get: how that was understood

    bool operator==(const SignRequest&) const = default;
};
std::string format_sign(const SignRequest& request);  // the argument
Result<SignRequest> parse_sign(std::string_view argument);

}  // namespace lambda::session
