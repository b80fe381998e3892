#include "client/report/outcome.h"

#include "client/report/failures.h"

namespace lambda::client {

void report_untold(std::uint64_t failed, std::size_t told, Side side, Report& report) {
    if (failed <= told) return;
    report.error(
        {.fault = Fault::file,
         .message = std::to_string(failed - told) + (told == 0 ? "" : " more") + " files failed",
         .path = {},
         .side = side,
         .remedy = "run the same command again: it tells of those that fail then"});
}

void report_outcome(const mover::Outcome& outcome, Report& report) {
    for (const FailureLine& line : failure_lines(outcome.failures)) report.error(line);
    report_untold(outcome.failed, outcome.failures.size(), Side::network, report);
    for (const mover::Skipped& skipped : outcome.skips) {
        report.note("skipped " + skipped.name + ": " + skipped.why);
    }
    if (outcome.skipped > outcome.skips.size()) {
        report.note(std::to_string(outcome.skipped - outcome.skips.size()) + " more were skipped");
    }
    report.unowned(outcome.unowned);
    if (outcome.cut) report.error(*outcome.cut);
    report.moved(outcome);
}

}  // namespace lambda::client
