#include "client/list_command.h"

#include "client/remote/remote_session.h"
#include "client/remote/server_names.h"
#include "client/report/entry_lines.h"
#include "common/transfer/filter.h"

namespace lambda::client {
namespace {

// In one round trip: what stands there, and what it holds if it is a directory, or leads to one.
Result<void> list_place(Connection& connection, const std::string& path, Report& report) {
    LAMBDA_ASSERT(connection.send("MLST", path).ok());
    LAMBDA_ASSERT(connection.send("MLSD", path).ok());
    const auto stands = connection.receive();
    if (!stands) return stands.error();
    report.session_stands();
    EntriesByName entries(
        [&](const session::Entry& entry) { show_entry(entry, entry.name, report); });
    const auto last = receive_entries(
        connection, path, [&](session::Entry entry) { entries.take(std::move(entry)); });
    entries.end();
    if (!entries.sorted()) {
        report.note("of so many, those behind the first " + std::to_string(entries.kept()) +
                    " are not sorted by name");
    }
    if (!last) return last.error();
    const auto why = no_listing(*last, path);
    if (!why) return {};
    const auto entry = entry_in(*stands);
    if (entry && entry->type != session::EntryType::directory) {
        show_entry(*entry, path, report);
        return {};
    }
    if (entry || !transfer::has_wildcards(path)) return *why;
    ServerNames names(connection);
    auto matches = expand_pattern(path, names, [&](const Error& unread) { report.error(unread); });
    if (!matches) return matches.error();
    for (session::Entry& match : *matches) entries.take(std::move(match));
    entries.end();
    return {};
}

}  // namespace

void list(const Arguments& arguments, Report& report) {
    auto session = RemoteSession::of_places(arguments.operands, {"MLST", "MLSD"});
    if (!session) return report.error(session.error());
    if (auto opened = session->open(arguments, report); !opened) {
        return report.error(opened.error());
    }
    const auto listed = list_place(session->connection(), session->paths().front(), report);
    if (session->connection().logged_in()) report.session_stands();
    if (!listed) report.error(listed.error());
}

}  // namespace lambda::client
