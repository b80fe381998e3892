#include "client/remote/remote_session.h"

#include "client/command_line/usage.h"

namespace lambda::client {

Result<RemoteSession> RemoteSession::of_places(const std::vector<std::string>& operands,
                                               std::initializer_list<const char*> verbs) {
    RemoteSession session;
    for (const std::string& operand : operands) {
        const auto place = parse_place(operand);
        if (!place) return place.error();
        if (!place->server) {
            return usage(operand, "not a place at a server",
                         "write lambda://HOST/PATH or HOST:PATH");
        }
        if (session.paths_.empty()) session.server_ = *place->server;
        if (!(session.server_ == *place->server)) {
            return usage(operand, "one command speaks with one server", "make it two commands");
        }
        for (const char* verb : verbs) {
            const auto line = session::format_command({.verb = verb, .argument = place->path});
            if (!line) return line.error();
        }
        session.paths_.push_back(place->path);
    }
    return session;
}

Result<RemoteSession> RemoteSession::of_server(const std::string& operand) {
    const auto place = parse_server(operand);
    if (!place) return place.error();
    RemoteSession session;
    session.server_ = *place;
    return session;
}

Result<void> RemoteSession::open(const Arguments& arguments, Report& report) {
    auto connection = open_connection(server_, arguments.access(),
                                      [&](const std::string& text) { report.note(text); });
    if (!connection) return connection.error();
    connection_ = *std::move(connection);
    return {};
}

Result<session::Reply> RemoteSession::receive(Report& report) {
    return heard(connection_->receive(), report);
}

Result<session::Reply> RemoteSession::receive_slow(Report& report) {
    return heard(connection_->receive_slow(), report);
}

Result<session::Reply> RemoteSession::heard(Result<session::Reply> reply, Report& report) {
    if (connection_->logged_in()) report.session_stands();
    return reply;
}

}  // namespace lambda::client
