#include "client/checksum.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "client/remote/remote_session.h"
#include "client/remote/server_names.h"
#include "client/waiting.h"
#include "common/base/hex.h"
#include "common/io/file/root.h"
#include "common/transfer/filter.h"
#include "common/verify/checksum.h"

namespace lambda::client {
namespace {

// On a terminal no name, which may be a server's, moves the cursor; elsewhere the line is for
// --check.
void show(const std::string& operand, const std::string& digits, const Arguments& arguments,
          Report& report) {
    const std::string line = checksum_line(digits, operand);
    report.data(JsonObject()
                    .text("event", "checksum")
                    .text("path", operand)
                    .text("algorithm", verify::to_string(arguments.algorithm))
                    .text("digest", digits),
                ::isatty(STDOUT_FILENO) == 1 ? printable(line) : line);
}

// The digits in a reply to CKSM.
Result<std::string> digits_of(const session::Reply& reply, verify::Algorithm algorithm,
                              const std::string& path) {
    if (!reply.positive())
        return refusal(reply, reply.code == 504 ? Fault::unsupported : Fault::file, path);
    const std::string& digits = reply.text();
    if (digits.size() == verify::hex_digits(algorithm) && all_hex(digits)) return digits;
    return Error{.fault = Fault::protocol,
                 .message = "the server's answer is no " +
                            std::string(verify::to_string(algorithm)) + " checksum",
                 .path = path_at_server(path),
                 .side = Side::remote,
                 .remedy = {}};
}

struct RemoteFile {
    std::string shown;  // as the user would write the place
    std::string path;
};

// What stands under a name with wildcards is meant by it; else it is a pattern, which means what it
// finds. Errors are of the session.
Result<std::vector<RemoteFile>> files_of(const std::vector<std::string>& operands,
                                         RemoteSession& session, Report& report) {
    std::vector<RemoteFile> files;
    ServerNames names(session.connection());
    std::vector<std::string> doubtful;
    std::copy_if(session.paths().begin(), session.paths().end(), std::back_inserter(doubtful),
                 transfer::has_wildcards);
    const auto standing = names.look(doubtful);
    if (!standing) return standing.error();
    auto stands = standing->begin();
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const std::string& path = session.paths()[i];
        if (!transfer::has_wildcards(path) || (stands++)->has_value()) {
            files.push_back({.shown = operands[i], .path = path});
            continue;
        }
        auto matches =
            expand_pattern(path, names, [&](const Error& unread) { report.error(unread); });
        if (!matches && matches.error().fault != Fault::file) return matches.error();
        if (!matches) {
            report.error(matches.error());
            continue;
        }
        std::sort(matches->begin(), matches->end(),
                  [](const auto& a, const auto& b) { return a.name < b.name; });
        for (const session::Entry& match : *matches)
            files.push_back({.shown = place_beside(operands[i], match.name), .path = match.name});
    }
    return files;
}

// Pipelined. Errors are of the session.
Result<void> show_all(const std::vector<RemoteFile>& files, RemoteSession& session,
                      const Arguments& arguments, Report& report) {
    std::vector<std::string> questions;
    for (const RemoteFile& file : files) {
        questions.push_back(session::format_checksum({.algorithm = to_string(arguments.algorithm),
                                                      .offset = 0,
                                                      .length = std::nullopt,
                                                      .path = file.path}));
    }
    return ask_all(session.connection(), "CKSM", questions, [&](std::size_t i) -> Result<void> {
        const auto reply = session.receive_slow(report);
        if (!reply) return reply.error();
        const auto digits = digits_of(*reply, arguments.algorithm, files[i].path);
        if (digits) {
            show(files[i].shown, *digits, arguments, report);
        } else {
            report.error(digits.error());
        }
        return {};
    });
}

// Of places at one server. False: the session is lost.
bool show_remote(const std::vector<std::string>& operands, const Arguments& arguments,
                 Report& report) {
    auto session = RemoteSession::of_places(operands, {"CKSM"});
    if (!session) {
        report.error(session.error());
        return true;
    }
    if (auto opened = session->open(arguments, report); !opened) {
        report.unreached(opened.error());  // whatever stood with another server
        return false;
    }
    const auto files = files_of(operands, *session, report);
    if (session->connection().logged_in()) report.session_stands();
    const auto shown = files ? show_all(*files, *session, arguments, report) : files.error();
    if (!shown) report.error(shown.error());
    return shown.ok();
}

// A name that stands here is meant by it, whatever else it could mean.
bool is_local(const std::string& operand, const Place& place) {
    return !place.server || ::access(operand.c_str(), F_OK) == 0;
}

}  // namespace

void checksum(const Arguments& arguments, Report& report) {
    std::vector<std::string> waiting;  // at one server
    std::optional<Server> server;
    const auto ask = [&] {
        const std::vector<std::string> asked = std::exchange(waiting, {});
        return asked.empty() || show_remote(asked, arguments, report);
    };
    for (const std::string& operand : arguments.operands) {
        const auto place = parse_place(operand);
        const bool remote = place && !is_local(operand, *place);
        if (!waiting.empty() && !(remote && place->server == server) && !ask()) return;
        if (!place) {
            report.error(place.error());
        } else if (remote) {
            server = place->server;
            waiting.push_back(operand);
        } else if (const auto digits = local_checksum(operand, arguments.algorithm)) {
            show(operand, *digits, arguments, report);
        } else {
            report.error_here(digits.error());
            if (digits.error().fault == Fault::cut) return;
        }
    }
    ask();
}

Result<std::string> local_checksum(const std::string& path, verify::Algorithm algorithm) {
    const auto file = io::Root::machine().open(path, O_RDONLY | O_NONBLOCK);
    if (!file) return file.error();
    auto digits =
        verify::checksum({.fd = file->get(), .path = path, .algorithm = algorithm, .stopped = [] {
                              return interrupted();
                          }});
    if (!digits && digits.error().fault == Fault::cut) return interruption_error();
    return digits;
}

std::string checksum_line(const std::string& digits, const std::string& name) {
    std::string escaped;
    for (const char c : name) {
        if (c == '\\') {
            escaped += "\\\\";
        } else if (c == '\n') {
            escaped += "\\n";
        } else if (c == '\r') {
            escaped += "\\r";
        } else {
            escaped += c;
        }
    }
    return (escaped == name ? "" : "\\") + digits + "  " + escaped;
}

}  // namespace lambda::client
