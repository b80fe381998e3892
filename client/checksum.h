// checksum: of files here and at servers, in the order in which they were named; a line for each as
// sha256sum and its like write it, so that their --check takes it; on a terminal it is printable().
#pragma once

#include <string>

#include "client/command_line/arguments.h"
#include "client/report/report.h"
#include "common/base/result.h"
#include "common/verify/hash.h"

namespace lambda::client {

void checksum(const Arguments& arguments, Report& report);

// Of a file here.
Result<std::string> local_checksum(const std::string& path, verify::Algorithm algorithm);

// "DIGITS  NAME"; where the name has a line end or a backslash, these are escaped and a backslash
// leads, as GNU coreutils do.
std::string checksum_line(const std::string& digits, const std::string& name);

}  // namespace lambda::client
