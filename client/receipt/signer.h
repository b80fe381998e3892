// Who signed a receipt: whether its key is that of the server which it names. Who can write files
// can also write a receipt for them, by a key of his own.
#pragma once

#include <string>

#include "client/home/known_hosts.h"
#include "client/remote/place.h"
#include "common/base/result.h"
#include "common/io/tls/tls.h"

namespace lambda::client {

// known: it is that server's, by known_hosts or by a session with it; given: the user named it.
enum class Signer { known, given, unknown };
const char* to_string(Signer signer);

// By `wanted`, where the user named a key, else by `hosts`. Errors: Fault::integrity, another key
// signed; Fault::session, as KnownHosts::find().
Result<Signer> signer_of(const io::Fingerprint& key, const Server& server, const KnownHosts& hosts,
                         const io::Fingerprint& wanted);
// Whether it is the key that the server itself shows. Fault::integrity.
Result<void> check_shown(const io::Fingerprint& key, const Server& server,
                         const io::Fingerprint& shown);
// For a receipt by whose word alone a server would be dialled, and shown a password.
Error unnamed_server(const Server& server);
// For a receipt whose signer is to be known, and is not.
Error unknown_signer(const io::Fingerprint& key, const Server& server);

}  // namespace lambda::client
