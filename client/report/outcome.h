// How a transfer that has ended is told.
#pragma once

#include "client/report/report.h"

namespace lambda::client {

// Failures, what was skipped, and the summary.
void report_outcome(const mover::Outcome& outcome, Report& report);

}  // namespace lambda::client
