// audit: whether a replica is what a receipt says, at the place where the transfer left it or at
// another one, here or at a server.
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"

namespace lambda::client {

void audit(const Arguments& arguments, Report& report);

}  // namespace lambda::client
