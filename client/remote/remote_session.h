// A command's remote places, all at one server, and the session with it.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "client/command_line/arguments.h"
#include "client/remote/connection.h"
#include "client/report/report.h"

namespace lambda::client {

class RemoteSession {
  public:
    // Checks the places before anything is sent: remote, at one server, and able to stand on a line
    // behind each of `verbs`. Errors are Fault::usage.
    static Result<RemoteSession> of_places(const std::vector<std::string>& operands,
                                           std::initializer_list<const char*> verbs);

    // Of a command that means the server itself: "[user@]host[:port]" will do, too.
    static Result<RemoteSession> of_server(const std::string& operand);

    Result<void> open(const Arguments& arguments, Report& report);
    // As Connection::receive() and receive_slow(), and the report learns that the session stands.
    Result<session::Reply> receive(Report& report);
    Result<session::Reply> receive_slow(Report& report);

    const Server& server() const { return server_; }
    const std::vector<std::string>& paths() const { return paths_; }
    Connection& connection() { return *connection_; }

  private:
    Result<session::Reply> heard(Result<session::Reply> reply, Report& report);

    Server server_;
    std::vector<std::string> paths_;
    std::unique_ptr<Connection> connection_;
};

}  // namespace lambda::client
