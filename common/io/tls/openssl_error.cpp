#include "common/io/tls/openssl_error.h"

#include <openssl/err.h>

#include <cstring>

namespace lambda::io {

std::string openssl_reason() {
    // What the system said comes first, and above it who could not go on.
    unsigned long code = 0;
    while (const unsigned long next = ERR_get_error()) {
        code = next;
        if (ERR_SYSTEM_ERROR(code)) break;
    }
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : "unknown error";
}

Error openssl_error(Fault fault, const std::string& what, std::string path) {
    return Error{.fault = fault,
                 .message = what + ": " + openssl_reason(),
                 .path = std::move(path),
                 .side = Side::local,
                 .remedy = {}};
}

}  // namespace lambda::io
