// What stands at a server, by MLST and MLSD over one control session, many of them in hand. One
// thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/remote/connection.h"
#include "client/replicate/listing.h"

namespace lambda::client::replicate {

class RemoteTree {
  public:
    // Errors of all: of the session.
    static Result<RemoteTree> open(const Server& server, const Access& access);

    Result<std::vector<There>> stand(const std::vector<std::string>& paths);

    // Lists the directory `path`, and, in breadth, those below it for which `visit` is true.
    // `below`: the names of the entries, with `prefix` before them.
    using Visit = std::function<bool(const std::string& below, const Standing&)>;
    // Of a directory that could not be listed, or not all of it.
    using Refused = std::function<void(const std::string& below, Error)>;
    Result<void> walk(const std::string& path, const std::string& prefix, const Visit& visit,
                      const Refused& refused);

  private:
    explicit RemoteTree(std::unique_ptr<Connection> connection)
        : connection_(std::move(connection)) {}
    std::unique_ptr<Connection> connection_;
};

}  // namespace lambda::client::replicate
