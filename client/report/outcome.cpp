#include "client/report/outcome.h"

#include "client/report/failures.h"

namespace lambda::client {

void report_outcome(const mover::Outcome& outcome, Report& report) {
    for (const FailureLine& line : failure_lines(outcome.failures)) report.error(line);
    if (outcome.failed > outcome.failures.size()) {
        report.note(std::to_string(outcome.failed - outcome.failures.size()) +
                    " more files failed");
    }
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
