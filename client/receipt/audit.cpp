#include "client/receipt/audit.h"

#include <sys/stat.h>

#include <cerrno>

#include "client/checksum.h"
#include "client/known_hosts.h"
#include "client/receipt/findings.h"
#include "client/receipt/receipt_reader.h"
#include "client/receipt/remote_audit.h"
#include "client/waiting.h"
#include "common/transfer/names.h"

namespace lambda::client {
namespace {

// How the client called the server that signed.
Result<Server> server_of(const receipt::Statement& statement) {
    const auto place = parse_place("lambda://" + statement.server + "/");
    if (place && place->server) {
        Server server = *place->server;
        server.user = statement.account;
        return server;
    }
    return Error{.fault = Fault::integrity,
                 .message = "the receipt names no server that could be understood",
                 .path = statement.server,
                 .side = Side::local,
                 .remedy = {}};
}

// A key that is known for that server must be the one that signed; whose an unknown one is, the
// user must see.
Result<void> check_signer(const ReceiptReader& receipt, const Server& server, Report& report) {
    const KnownHosts known = KnownHosts::of_user();
    const auto pinned = known.find(server);
    if (!pinned) return pinned.error();
    if (!pinned->has_value()) {
        report.say("the receipt is signed by the key " + receipt.key() + ", said to be that of " +
                   server.endpoint() +
                   ", which is not in known_hosts: compare it with the server's own");
        return {};
    }
    if (**pinned == receipt.key()) {
        report.note("the receipt is signed by " + server.endpoint() + ", key " + receipt.key());
        return {};
    }
    return Error{.fault = Fault::integrity,
                 .message = "the receipt is signed by another key than that of " +
                            server.endpoint() + ": " + receipt.key() + ", known is " + **pinned,
                 .path = {},
                 .side = Side::local,
                 .remedy = "it is forged, or the server has a new key"};
}

// Where the files should be.
Result<Place> place_of(const Arguments& arguments, const receipt::Statement& statement,
                       const Server& server) {
    if (!arguments.at.empty()) {
        struct stat status {};
        if (::stat(arguments.at.c_str(), &status) == 0) return Place{{}, arguments.at};
        return parse_place(arguments.at);
    }
    if (statement.direction == session::Direction::put) return Place{server, statement.place};
    return Place{{}, statement.destination};
}

void audit_here(ReceiptReader& receipt, const transfer::Target& target, Findings& findings) {
    while (!interrupted()) {
        const auto line = receipt.next();
        if (!line) return findings.stop(line.error());
        if (!*line) return;
        const receipt::FileLine& file = **line;
        const std::string path = target.of(file.path).text();
        struct stat status {};
        if (::stat(path.c_str(), &status) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) {
                findings.missing(path, Side::local);
            } else {
                findings.unread(errno_error(Fault::file, "cannot look at", path, errno));
            }
            continue;
        }
        const bool regular = S_ISREG(status.st_mode);
        if (!findings.has_size(file, path, Side::local, regular,
                               static_cast<std::uint64_t>(status.st_size))) {
            continue;
        }
        const auto algorithm = algorithm_of(file);
        if (!algorithm) {
            findings.of_size_alone();
        } else if (const auto digits = local_checksum(path, *algorithm)) {
            findings.has_digest(file, path, Side::local, *algorithm, *digits);
        } else if (digits.error().fault == Fault::cut) {
            return findings.stop(digits.error());
        } else {
            findings.unread(digits.error());
        }
    }
    findings.stop(interruption_error());
}

}  // namespace

void audit(const Arguments& arguments, Report& report) {
    auto receipt = ReceiptReader::open(arguments.operands.front());
    if (!receipt) return report.error(receipt.error());
    const receipt::Statement& statement = receipt->statement();
    const auto server = server_of(statement);
    if (!server) return report.error(server.error());
    if (const auto checked = check_signer(*receipt, *server, report); !checked)
        return report.error(checked.error());
    const auto place = place_of(arguments, statement, *server);
    if (!place) return report.error(place.error());
    const transfer::Target target{.path = place->path, .into_directory = statement.into_directory};
    Findings findings(report);
    if (place->server) {
        audit_there(*receipt, *place->server, target, arguments, findings, report);
    } else {
        audit_here(*receipt, target, findings);
    }
    findings.tell(statement);
}

}  // namespace lambda::client
