// How a transfer that has ended is told.
#pragma once

#include "client/report/report.h"

namespace lambda::client {

// So many failed, of whom so many were told.
void report_untold(std::uint64_t failed, std::size_t told, Side side, Report& report);
// Failures, what was skipped, and the summary.
void report_outcome(const mover::Outcome& outcome, Report& report);

}  // namespace lambda::client
