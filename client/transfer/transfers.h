// put, get and sync: one transfer for all sources of a command.
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"
#include "client/transfer/destination.h"

namespace lambda::client {

// One try; notes alone go to the report. An error: no transfer began.
Result<mover::Outcome> move_once(Plan plan, const Arguments& arguments, Report& report);

// Everything that goes wrong, goes to the report.
void put(const Arguments& arguments, Report& report);
void get(const Arguments& arguments, Report& report);
void sync(const Arguments& arguments, Report& report);

// Failures, what was skipped, and the summary.
void report_outcome(const mover::Outcome& outcome, Report& report);

// One try: dials, agrees, moves. `token`: of the try before, whose place this one takes, or empty;
// then its own.
Result<mover::Outcome> transfer(Plan& plan, const Arguments& arguments, std::string& token,
                                Report& report);

}  // namespace lambda::client
