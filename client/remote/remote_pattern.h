// A path with wildcards as the server's names have it: what `get` of it takes, found by listing
// the directories on its way. '*', '?' and '[...]' stop at '/', and a leading dot is matched by a
// dot alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/session/entry.h"

namespace lambda::client {

// How the server is asked. Errors are of the session; what it does not show is not there.
class RemoteNames {
  public:
    virtual ~RemoteNames() = default;
    // The entries of each of these directories; of what is none, nothing. `unread` hears of those
    // that stand there and are not shown.
    using Take = std::function<void(const std::string& directory, session::Entry)>;
    using Unread = std::function<void(const Error&)>;
    virtual Result<void> list(const std::vector<std::string>& directories, const Take& take,
                              const Unread& unread) = 0;
    // What stands under each of these names, a link itself.
    virtual Result<std::vector<std::optional<session::Entry>>> look(
        const std::vector<std::string>& paths) = 0;
};

constexpr std::size_t kMostMatches = 1u << 18;

// All that matches, named by its whole path; `unread` hears of directories in which more might.
// Errors: of the session; Fault::file where nothing matches, or more than `most` names have to be
// looked at.
Result<std::vector<session::Entry>> expand_pattern(const std::string& pattern, RemoteNames& names,
                                                   const RemoteNames::Unread& unread,
                                                   std::size_t most = kMostMatches);

}  // namespace lambda::client
