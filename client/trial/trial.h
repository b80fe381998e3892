// `trial`: what the path to a server carries, leg by leg, and what holds it back (docs/trials.md).
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"

namespace lambda::client {

// Everything that goes wrong, goes to the report. A leg that cannot be run is skipped by name.
void trial(const Arguments& arguments, Report& report);

}  // namespace lambda::client
