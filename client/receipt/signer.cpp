#include "client/receipt/signer.h"

namespace lambda::client {
namespace {

Error refused(std::string message, std::string remedy) {
    return Error{.fault = Fault::integrity,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

Error of_another(const io::Fingerprint& key, const Server& server, const std::string& right) {
    return refused("the receipt is signed by another key than that of " + server.endpoint() + ": " +
                       key + ", and not " + right,
                   "it is forged, or the server has a new key: then name the old one by --signer");
}

}  // namespace

const char* to_string(Signer signer) {
    switch (signer) {
        case Signer::known:
            return "known";
        case Signer::given:
            return "given";
        case Signer::unknown:
            return "unknown";
    }
    LAMBDA_ASSERT(false);
}

Result<Signer> signer_of(const io::Fingerprint& key, const Server& server, const KnownHosts& hosts,
                         const io::Fingerprint& wanted) {
    if (wanted == key) return Signer::given;
    if (!wanted.empty())
        return refused("the receipt is signed by " + key + ", and not by " + wanted, {});
    const auto pinned = hosts.find(server);
    if (!pinned) return pinned.error();
    if (!pinned->has_value()) return Signer::unknown;
    if (**pinned != key) return of_another(key, server, **pinned);
    return Signer::known;
}

Result<void> check_shown(const io::Fingerprint& key, const Server& server,
                         const io::Fingerprint& shown) {
    if (shown != key) return of_another(key, server, shown);
    return {};
}

Error unnamed_server(const Server& server) {
    return refused(
        "the receipt says that its files are at " + server.endpoint() + ", which is not known here",
        "if you mean that server, name it by --at lambda://USER@HOST:PORT/PATH");
}

Error unknown_signer(const io::Fingerprint& key, const Server& server) {
    return refused("the receipt is signed by the key " + key + ", and whether that is " +
                       server.endpoint() + "'s is not known here",
                   "compare it with the server's own, and name that by --signer; --any-signer "
                   "takes it unseen");
}

}  // namespace lambda::client
