// copy and copies: from server to server, and what became of it.
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"

namespace lambda::client {

// Everything that goes wrong, goes to the report.
void copy(const Arguments& arguments, Report& report);
// Lists the copies that a server conducts for this user; with --wait or --cancel, one of them.
void copies(const Arguments& arguments, Report& report);

}  // namespace lambda::client
