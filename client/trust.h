// Whether the key that a server shows is the one that it always had.
#pragma once

#include <string>

#include "client/known_hosts.h"
#include "client/place.h"
#include "common/base/result.h"

namespace lambda::client {

// Nothing secret may be said before this holds. A pinned server must show its key; an unknown one
// is asked about on the terminal, or trusted where `trust_new_host` is set, and then remembered.
// Errors: Fault::session; a changed key names both fingerprints.
Result<void> check_key(const KnownHosts& known, const Server& server, const io::Fingerprint& shown,
                       bool trust_new_host);

}  // namespace lambda::client
