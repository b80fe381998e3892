// What the verification of a peer's certificate leaves for its TlsStream. The context's verify
// callback writes it, through the SSL's application data.
#pragma once

#include <openssl/types.h>

#include <string>

#include "common/io/tls.h"

namespace lambda::io {

struct TlsPeer {
    Fingerprint fingerprint;  // of the leaf that was shown, also where it was refused
    std::string refusal;      // why it was refused; empty where it was not
};

// Empty where the public key cannot be encoded.
Fingerprint fingerprint_of(X509* certificate);

}  // namespace lambda::io
