#include "client/remote/trust.h"

#include "client/remote/terminal.h"

namespace lambda::client {
namespace {

Error refused(std::string message, std::string remedy) {
    return Error{.fault = Fault::session,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::remote,  // no pause mends it
                 .remedy = std::move(remedy)};
}

Result<void> compare(const KnownHosts& known, const Server& server, const io::Fingerprint& pinned,
                     const io::Fingerprint& shown) {
    if (pinned == shown) return {};
    return refused("the key of " + server.endpoint() + " has changed: known is " + pinned +
                       ", shown is " + shown,
                   "somebody may be listening in; if the change is genuine, remove the line of " +
                       server.known_hosts_key() + " from " + known.file());
}

Result<void> keep(const KnownHosts& known, const Server& server, const io::Fingerprint& shown) {
    const auto pinned = known.add(server, shown);
    return pinned ? compare(known, server, *pinned, shown) : Result<void>(pinned.error());
}

}  // namespace

Result<void> check_key(const KnownHosts& known, const Server& server, const io::Fingerprint& shown,
                       NewHost new_host) {
    if (shown.empty()) return refused(server.endpoint() + " shows no certificate", {});
    const auto pinned = known.find(server);
    if (!pinned) return pinned.error();
    if (pinned->has_value()) return compare(known, server, **pinned, shown);
    if (new_host == NewHost::trust) return keep(known, server, shown);
    const Error unknown =
        refused("the key of " + server.endpoint() + " is not known: " + shown,
                "compare it with the server's own, then use --trust-new-host once, as in "
                "`lambda-ftp ping --trust-new-host lambda://" +
                    (server.user.empty() ? "" : server.user + "@") + server.endpoint() +
                    "`, with the password as here");
    if (new_host == NewHost::refuse) return unknown;
    const auto trusted = ask_yes("The server " + server.endpoint() + " is not known; its key is " +
                                 shown + ". Trust it (yes/no)? ");
    if (!trusted) return trusted.error().fault == Fault::cut ? trusted.error() : unknown;
    if (!*trusted)
        return refused("the key of " + server.endpoint() + " was not trusted: " + shown, {});
    return keep(known, server, shown);
}

}  // namespace lambda::client
