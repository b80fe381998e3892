// `ls`: what a directory holds, a file or link by its name, or what a pattern matches.
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"

namespace lambda::client {

// Everything that goes wrong, goes to the report.
void list(const Arguments& arguments, Report& report);

}  // namespace lambda::client
