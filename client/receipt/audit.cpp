#include "client/receipt/audit.h"

#include <sys/stat.h>

#include <cerrno>

#include "client/checksum.h"
#include "client/home/known_hosts.h"
#include "client/receipt/findings.h"
#include "client/receipt/receipt_reader.h"
#include "client/receipt/remote_audit.h"
#include "client/receipt/replica.h"
#include "client/receipt/signer.h"
#include "client/waiting.h"

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

bool is_local_directory(const Place& place) {
    struct stat status {};
    return !place.server && ::stat(place.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void audit_here(ReceiptReader& receipt, const Replica& replica, Findings& findings) {
    while (!interrupted()) {
        const auto line = receipt.next();
        if (!line) return findings.stop_here(line.error());
        if (!*line) return;
        const receipt::FileLine& file = **line;
        const std::string path = replica.path_of(file.path);
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
            return findings.stop_here(digits.error());
        } else {
            findings.unread(digits.error());
        }
    }
    findings.stop_here(interruption_error());
}

}  // namespace

void audit(const Arguments& arguments, Report& report) {
    auto receipt = ReceiptReader::open(arguments.operands.front());
    if (!receipt) return report.error(receipt.error());
    const receipt::Statement& statement = receipt->statement();
    const auto server = server_of(statement);
    if (!server) return report.error(server.error());
    const auto place = place_of(arguments, statement, *server);
    if (!place) return report.error(place.error());
    const auto signer = signer_of(receipt->key(), *server, KnownHosts::of_user(), arguments.signer);
    if (!signer) return report.error(signer.error());
    // By the receipt's word alone no server is dialled but one that is known: with authorities any
    // that they know would do, and where new hosts are trusted any at all.
    Arguments how = arguments;
    if (place->server && arguments.at.empty()) {
        if (*signer == Signer::unknown) return report.error(unnamed_server(*server));
        how.settings.trust_new_host = false;
    }
    // The server itself shows its key.
    const bool shown = *signer != Signer::given && place->server &&
                       place->server->endpoint() == server->endpoint();
    if (*signer == Signer::unknown && !shown) {
        const Error unknown = unknown_signer(receipt->key(), *server);
        if (!arguments.any_signer) return report.error(unknown);
        report.say(unknown.message);
    }
    const bool named = !arguments.at.empty() && !statement.into_directory;
    Replica replica{
        .target = {.path = place->path, .into_directory = statement.into_directory},
        .is_directory = named && (arguments.at.back() == '/' || is_local_directory(*place))};
    Findings findings(report, *signer);
    if (place->server) {
        const bool looks = named && statement.tally.files == 1 && !replica.is_directory;
        audit_there(*receipt, *place->server, {.replica = replica, .looks = looks, .shown = shown},
                    how, findings, report);
    } else {
        audit_here(*receipt, replica, findings);
    }
    if (findings.signer() == Signer::known)
        report.note("the receipt is signed by " + server->endpoint() + ", key " + receipt->key());
    findings.tell(statement);
}

}  // namespace lambda::client
