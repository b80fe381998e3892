// The names at a server as its MLSD and MLST show them; many questions are on their way at a time.
// One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/remote/connection.h"
#include "client/remote/remote_pattern.h"

namespace lambda::client {

// A line of what the server tells of `path`.
Result<session::Entry> entry_of(std::string_view line, const std::string& path);
// The answer to an MLSD of `path`; its last line. What is wrong with one line is wrong with all.
using TakeEntry = std::function<void(session::Entry)>;
Result<session::ReplyLine> receive_entries(Connection& connection, const std::string& path,
                                           const TakeEntry& take);
// What the last line says: nothing where it ends a listing, else why there is none.
std::optional<Error> no_listing(const session::ReplyLine& last, const std::string& path);
// The answer to an MLST; nothing where that is a refusal.
std::optional<session::Entry> entry_in(const session::Reply& reply);

// Whether nothing stands there: a server says it in words alone, those of strerror(3).
bool says_missing(std::string_view refusal);

class ServerNames final : public RemoteNames {
  public:
    explicit ServerNames(Connection& connection) : connection_(connection) {}

    Result<void> list(const std::vector<std::string>& directories, const Take& take,
                      const Unread& unread) override;
    Result<std::vector<std::optional<session::Entry>>> look(
        const std::vector<std::string>& paths) override;

  private:
    Connection& connection_;
};

}  // namespace lambda::client
