// Whether the key that a server shows is the one that it always had.
#pragma once

#include <string>

#include "client/home/known_hosts.h"
#include "client/remote/place.h"
#include "common/base/result.h"

namespace lambda::client {

// What becomes of a server that was never seen.
enum class NewHost { ask, trust, refuse };

// Nothing secret may be said before this holds. A pinned server must show its key; an unknown one
// is trusted, asked about on the terminal, or refused; what is trusted is remembered.
// Errors: Fault::session; a changed key names both fingerprints.
Result<void> check_key(const KnownHosts& known, const Server& server, const io::Fingerprint& shown,
                       NewHost new_host);

}  // namespace lambda::client
