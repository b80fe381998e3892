// checksum: digests of files here and at servers, the same that a transfer compares
// (docs/protocol.md §7).
#pragma once

#include "client/arguments.h"
#include "client/report.h"
#include "common/base/result.h"
#include "common/transfer/digest.h"

namespace lambda::client {

void checksum(const Arguments& arguments, Report& report);

// Of a file here.
Result<transfer::Digest> local_digest(const std::string& path);

}  // namespace lambda::client
