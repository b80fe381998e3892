// What OpenSSL's error queue of this thread has to say, as an Error.
#pragma once

#include <string>

#include "common/base/result.h"

namespace lambda::io {

// The reason of the last error in the queue, which is emptied; "unknown error" where it is empty.
std::string openssl_reason();
// message = "WHAT: reason".
Error openssl_error(Fault fault, const std::string& what, std::string path);

}  // namespace lambda::io
