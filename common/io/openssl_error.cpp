#include "common/io/openssl_error.h"

#include <openssl/err.h>

#include <cstring>

namespace lambda::io {

std::string openssl_reason() {
    const unsigned long code = ERR_peek_last_error();
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
