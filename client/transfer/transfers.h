// put, get and sync: one transfer for all sources of a command.
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"

namespace lambda::client {

// Everything that goes wrong, goes to the report.
void put(const Arguments& arguments, Report& report);
void get(const Arguments& arguments, Report& report);
void sync(const Arguments& arguments, Report& report);

}  // namespace lambda::client
