// Texts signed by a server's TLS key, whatever kind of key that is (Ed25519 where we made it): for
// who reads them later, without the server. Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/cursor.h"
#include "common/base/result.h"
#include "common/io/tls/tls.h"

namespace lambda::io {

struct Signature {
    std::vector<std::byte> bytes;
    std::vector<std::byte> public_key;  // SubjectPublicKeyInfo, DER (RFC 5280 §4.1.2.7)
};

// By the key of `context`, a server's. The text must begin with what no other use of the key signs:
// TLS 1.3 signs texts that begin with 64 blanks (RFC 8446 §4.4.3). Ed25519 and Ed448 by themselves,
// RSA and ECDSA over SHA-256. Fault::unsupported: a key that does not sign.
Result<Signature> sign(const TlsContext& context, std::string_view text);
bool verifies(const Signature& signature, std::string_view text);
// What sign() would sign with; empty where it cannot be told.
std::vector<std::byte> public_key_of(const TlsContext& context);
Fingerprint fingerprint_of_key(ByteView public_key);

}  // namespace lambda::io
