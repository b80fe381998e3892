// `ls`: what a directory holds, a file or link by its name, or what a pattern matches.
#pragma once

#include "client/arguments.h"
#include "client/report.h"

namespace lambda::client {

// Everything that goes wrong, goes to the report.
void list(const Arguments& arguments, Report& report);

}  // namespace lambda::client
