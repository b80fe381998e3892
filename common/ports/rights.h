// Which of an entry's attributes a receiver can give, beside its time. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/ports/attributes.h"

namespace lambda::ports {

// Whether a security module gives it by itself: nobody takes it away.
inline bool is_label(std::string_view extended) {
    return extended.starts_with("security.") && extended != "security.capability";
}

struct Rights {
    bool privileged = true;  // any owner, and attributes of every kind
    bool set_id = true;      // files that run as their owner or group
    // Without privilege: the groups that it may give to what is this user's.
    std::uint32_t user = 0;
    std::vector<std::uint32_t> groups{};

    // Whether to set the owner `to` would change what has the owner `has`.
    bool changes(const Owner& has, const Owner& to) const {
        if (privileged) return !(has == to);
        return has.user == user && has.group != to.group &&
               std::find(groups.begin(), groups.end(), to.group) != groups.end();
    }
};

// The mode that an entry gets: set-user-ID and set-group-ID only where it has the owner that it was
// to have, else they would be a stranger's. Those of a directory give nobody anything.
inline std::uint32_t given_mode(std::uint32_t mode, bool owned, bool directory, bool set_id) {
    return mode & (owned && (directory || set_id) ? 07777u : 01777u);
}

}  // namespace lambda::ports
