#include "client/file_commands.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client/copy/plan.h"
#include "client/remote/remote_session.h"
#include "client/remote/server_names.h"
#include "client/report/entry_lines.h"
#include "client/waiting.h"
#include "common/session/entry.h"
#include "common/transfer/filter.h"

namespace lambda::client {
namespace {

constexpr int kPings = 5;

void show_line(const std::string& line, const std::string& name, Report& report) {
    const auto entry = entry_of(line, name);
    if (!entry) return report.error(entry.error());
    show_entry(*entry, name, report);
}

using Take = std::function<void(const session::Reply&, const std::string&)>;

// One command for each place, pipelined; `take` sees the replies that are positive. `remedy`: of
// one that is refused.
void for_each_place(const char* verb, const Arguments& arguments, Report& report, const Take& take,
                    const std::function<std::string(const Error&)>& remedy = {}) {
    auto session = RemoteSession::of_places(arguments.operands, {verb});
    if (!session) return report.error(session.error());
    if (auto opened = session->open(arguments, report); !opened) {
        return report.error(opened.error());
    }
    const std::vector<std::string>& paths = session->paths();
    const auto asked =
        ask_all(session->connection(), verb, paths, [&](std::size_t i) -> Result<void> {
            const auto reply = session->receive(report);
            if (!reply) return reply.error();
            if (reply->positive()) {
                take(*reply, paths[i]);
            } else {
                Error refused = refusal(*reply, Fault::file, paths[i]);
                if (remedy && refused.remedy.empty()) refused.remedy = remedy(refused);
                report.error(refused);
            }
            return {};
        });
    if (!asked) report.error(asked.error());
}

}  // namespace

void stat(const Arguments& arguments, Report& report) {
    for_each_place("MLST", arguments, report,
                   [&](const session::Reply& reply, const std::string& path) {
                       show_line(reply.lines.size() > 1 ? reply.lines[1] : "", path, report);
                   });
}

void make_directories_there(const Arguments& arguments, Report& report) {
    for_each_place("MKD", arguments, report, [](const session::Reply&, const std::string&) {});
}

void remove_files(const Arguments& arguments, Report& report) {
    for_each_place(
        "DELE", arguments, report, [](const session::Reply&, const std::string&) {},
        [](const Error& refused) -> std::string {
            if (transfer::has_wildcards(refused.path)) return "rm takes names, no patterns";
            if (refused.message.find("Is a directory") == refused.message.npos) return {};
            return "rmdir takes an empty directory; `sync --delete` from an empty one empties a "
                   "tree";
        });
}

void remove_directories(const Arguments& arguments, Report& report) {
    for_each_place("RMD", arguments, report, [](const session::Reply&, const std::string&) {});
}

void rename(const Arguments& arguments, Report& report) {
    auto session = RemoteSession::of_places(arguments.operands, {"RNFR", "RNTO"});
    if (!session) return report.error(session.error());
    if (auto opened = session->open(arguments, report); !opened) {
        return report.error(opened.error());
    }
    const std::vector<std::string>& paths = session->paths();
    LAMBDA_ASSERT(session->connection().send("RNFR", paths[0]).ok());
    LAMBDA_ASSERT(session->connection().send("RNTO", paths[1]).ok());
    for (std::size_t i = 0; i < 2; ++i) {
        const auto reply = session->receive(report);
        if (!reply) return report.error(reply.error());
        const bool well = i == 0 ? reply->code == 350 : reply->positive();
        if (well) continue;
        Error refused = refusal(*reply, Fault::file, paths[i]);
        if (i == 0) return report.error(refused);
        // Of which of the two names, the server says: there the message is without it.
        Error of_old = refusal(*reply, Fault::file, paths[0]);
        if (of_old.message.size() < refused.message.size()) refused = std::move(of_old);
        const auto says = [&](int error) {
            return refused.message.find(std::strerror(error)) != std::string::npos;
        };
        if (says(ENOENT))
            refused.remedy = "make its directory first, by mkdir";
        else if (says(EINVAL) && is_within(paths[1], paths[0]))
            refused.remedy = "a directory cannot be moved into itself";
        else if (refused.remedy.empty())
            refused.remedy = "where " + path_at_server(paths[1]) +
                             " is a directory, name what is to be in it: DIRECTORY/NAME";
        return report.error(refused);
    }
}

void ping(const Arguments& arguments, Report& report) {
    auto session = RemoteSession::of_server(arguments.operands[0]);
    if (!session) return report.error(session.error());
    if (auto opened = session->open(arguments, report); !opened) {
        return report.error(opened.error());
    }
    double least_ms = 0;
    double most_ms = 0;
    double sum_ms = 0;
    for (int i = -1; i < kPings; ++i) {  // the first round waits for the login
        const Time before = now();
        LAMBDA_ASSERT(session->connection().send("NOOP").ok());
        const auto reply = session->receive(report);
        if (!reply) return report.error(reply.error());
        if (i < 0) continue;
        const double ms = seconds(now() - before) * 1e3;
        least_ms = i == 0 ? ms : std::min(least_ms, ms);
        most_ms = std::max(most_ms, ms);
        sum_ms += ms;
    }
    char text[128];
    std::snprintf(text, sizeof text, "%d round trips: least %.3f ms, mean %.3f ms, most %.3f ms",
                  kPings, least_ms, sum_ms / kPings, most_ms);
    report.data(JsonObject()
                    .text("event", "ping")
                    .number("round_trips", std::uint64_t{kPings})
                    .number("least_ms", least_ms)
                    .number("mean_ms", sum_ms / kPings)
                    .number("most_ms", most_ms),
                text);
}

}  // namespace lambda::client
