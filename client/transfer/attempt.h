// One try of a transfer: dials, agrees, moves, and signs where a receipt is wanted.
#pragma once

#include <string>

#include "client/command_line/arguments.h"
#include "client/report/report.h"
#include "client/transfer/destination.h"

namespace lambda::client {

// Notes alone go to the report. An error: no transfer began. `token`: of the try before, whose
// place this one takes, or empty; then its own.
Result<mover::Outcome> attempt(Plan& plan, const Arguments& arguments, std::string& token,
                               Report& report);
// The only one.
Result<mover::Outcome> attempt_once(Plan plan, const Arguments& arguments, Report& report);

}  // namespace lambda::client
