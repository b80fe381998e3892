// Passwords at rest: scrypt (RFC 7914) with N = 2^15, r = 8, p = 1: 32 MiB and about 0.1 s for one
// try. The stored form is "scrypt$N$r$p$SALT$HASH" in hex. Blocking: for a worker thread.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace lambda::server {

Result<std::string> hash_password(std::string_view password);
// False for a wrong password and for a `stored` that is malformed or asks for more than 64 MiB; the
// same work is done for each well-formed one of the same cost. Compares in constant time.
// Fault::cut where there is no memory for that now.
Result<bool> verify_password(std::string_view password, std::string_view stored);
bool is_password_hash(std::string_view stored);
// Well-formed, of the cost of hash_password(), and no password fits it.
const std::string& dummy_password_hash();

}  // namespace lambda::server
