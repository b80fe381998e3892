// What a copy is of, and where it goes: a pair of places at servers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/remote/place.h"
#include "common/base/result.h"

namespace lambda::client {

class Landing;

// The two servers of a copy, and who of them a user is told about.
enum class Role { source, destination };
const char* to_string(Role role);
inline Role other(Role role) {
    return role == Role::source ? Role::destination : Role::source;
}

struct CopyPlan {
    struct End {
        Server server;
        std::string argument;  // as the user gave it
        std::string path;
    };
    End source, destination;
    bool contents = false;  // what the source directory holds lands in the target
    // Of entries of the source directory, which land in the target; empty: all of the source.
    std::vector<std::string> names{};
    std::optional<std::uint16_t> found{};  // of these, as in session::CopyRequest
    bool one_password = false;             // the destination's opens the source too
    std::shared_ptr<Landing> landing{};    // where what became of it is kept
};
// Errors are Fault::usage. `whole`: nothing of a tree is left out, so that its copy must not lie
// in it.
Result<CopyPlan> plan_copy(const std::vector<std::string>& operands, bool whole);

// Of one server: whether this path is that directory, or below it. As the names say, without a look
// at links. Pure.
bool is_within(const std::string& path, const std::string& directory);
Error lies_within(const std::string& destination);

}  // namespace lambda::client
