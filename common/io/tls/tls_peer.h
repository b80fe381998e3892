// What the context's callbacks, of verification and of messages, leave for a TlsStream, through the
// SSL's application data.
#pragma once

#include <openssl/types.h>

#include <string>

#include "common/io/tls/tls.h"

namespace lambda::io {

struct TlsPeer {
    Fingerprint fingerprint;  // of the leaf that was shown, also where it was refused
    std::string refusal;      // why it was refused; empty where it was not
    int renewals = 0;         // messages behind the handshake: new keys and tickets
};

// Empty where the public key cannot be encoded.
Fingerprint fingerprint_of(X509* certificate);

}  // namespace lambda::io
