#include "client/file_commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "client/remote_session.h"
#include "client/waiting.h"
#include "common/session/entry.h"
#include "common/session/timestamp.h"

namespace lambda::client {
namespace {

// The server takes 64 commands in hand, of which the login has two.
constexpr std::size_t kInHand = 32;
constexpr int kPings = 5;

// A host alone will do where no path is meant: "ann@host" is "ann@host:".
std::string host_place(const std::string& text) {
    const auto place = parse_place(text);
    if (!place || place->server) return text;
    const auto of_host = parse_place(text + ":");
    return of_host && of_host->server ? text + ":" : text;
}

const char* type_name(session::EntryType type) {
    switch (type) {
        case session::EntryType::file:
            return "file";
        case session::EntryType::directory:
            return "directory";
        case session::EntryType::link:
            return "link";
        case session::EntryType::special:
            return "special";
    }
    LAMBDA_ASSERT(false);
}

char type_letter(session::EntryType type) {
    switch (type) {
        case session::EntryType::file:
            return '-';
        case session::EntryType::directory:
            return 'd';
        case session::EntryType::link:
            return 'l';
        case session::EntryType::special:
            return 's';
    }
    LAMBDA_ASSERT(false);
}

std::string mode_letters(const session::Entry& entry) {
    std::string letters(1, type_letter(entry.type));
    for (int shift = 8; shift >= 0; --shift) {
        const bool set = (entry.mode >> shift & 1u) != 0;
        letters += set ? "xwr"[shift % 3] : '-';
    }
    return letters;
}

std::string date(std::int64_t time_ns) {
    const auto time = static_cast<std::time_t>(time_ns / 1'000'000'000);
    std::tm local{};
    ::localtime_r(&time, &local);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
    return text;
}

// To a terminal no control character goes; to a pipe, names go as they are.
std::string for_people(const std::string& name) {
    return ::isatty(STDOUT_FILENO) == 1 ? printable(name) : name;
}

void show_entry(const session::Entry& entry, const std::string& name, Report& report) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%14llu  ", static_cast<unsigned long long>(entry.size));
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", entry.mode);
    JsonObject object;
    object.text("event", "entry")
        .text("name", name)
        .text("type", type_name(entry.type))
        .number("size", entry.size)
        .text("modify", session::format_timestamp(entry.mtime_ns))
        .text("mode", mode)
        .text("perm", entry.perm);
    std::string line =
        mode_letters(entry) + numbers + date(entry.mtime_ns) + "  " + for_people(name);
    if (!entry.target.empty()) {
        object.text("target", entry.target);
        line += " -> " + for_people(entry.target);
    }
    report.data(object, line);
}

void show_line(const std::string& line, const std::string* name, Report& report) {
    const auto entry = session::parse_entry(line);
    if (!entry) return report.error(entry.error());
    show_entry(*entry, name != nullptr ? *name : entry->name, report);
}

// One command for each place, pipelined; `take` sees the replies that are positive.
void for_each_place(const char* verb, const Arguments& arguments, Report& report,
                    const std::function<void(const session::Reply&, const std::string&)>& take) {
    auto session = RemoteSession::of_places(arguments.operands, {verb});
    if (!session) return report.error(session.error());
    if (auto opened = session->open(arguments, report); !opened) {
        return report.error(opened.error());
    }
    const std::vector<std::string>& paths = session->paths();
    std::size_t asked = 0;
    for (std::size_t answered = 0; answered < paths.size(); ++answered) {
        for (; asked < std::min(paths.size(), answered + kInHand); ++asked) {
            LAMBDA_ASSERT(session->connection().send(verb, paths[asked]).ok());
        }
        const auto reply = session->receive(report);
        if (!reply) return report.error(reply.error());
        if (reply->positive()) {
            take(*reply, paths[answered]);
        } else {
            report.error(refusal(*reply, Fault::file, paths[answered]));
        }
    }
}

}  // namespace

void list(const Arguments& arguments, Report& report) {
    auto session = RemoteSession::of_places(arguments.operands, {"MLSD"});
    if (!session) return report.error(session.error());
    if (auto opened = session->open(arguments, report); !opened) {
        return report.error(opened.error());
    }
    Connection& connection = session->connection();
    const std::string& path = session->paths().front();
    LAMBDA_ASSERT(connection.send("MLSD", path).ok());
    const auto last = connection.receive_lines([&](const session::ReplyLine& line) {
        if (!line.first) show_line(line.text, nullptr, report);
    });
    if (connection.logged_in()) report.session_stands();
    if (!last) return report.error(last.error());
    if (last->code >= 400) {
        report.error(refusal({.code = last->code, .lines = {last->text}}, Fault::file, path));
    }
}

void stat(const Arguments& arguments, Report& report) {
    for_each_place("MLST", arguments, report,
                   [&](const session::Reply& reply, const std::string& path) {
                       if (reply.lines.size() >= 2) show_line(reply.lines[1], &path, report);
                   });
}

void make_directories_there(const Arguments& arguments, Report& report) {
    for_each_place("MKD", arguments, report, [](const session::Reply&, const std::string&) {});
}

void remove_files(const Arguments& arguments, Report& report) {
    for_each_place("DELE", arguments, report, [](const session::Reply&, const std::string&) {});
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
    for (const std::string& path : paths) {
        const auto reply = session->receive(report);
        if (!reply) return report.error(reply.error());
        if (!reply->positive()) return report.error(refusal(*reply, Fault::file, path));
    }
}

void ping(const Arguments& arguments, Report& report) {
    auto session = RemoteSession::of_places({host_place(arguments.operands[0])}, {"NOOP"});
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
