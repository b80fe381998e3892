#include "client/report/outcome.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

TEST_CASE("outcome: failures that nobody told of are failures") {
    const auto code_of = [](const mover::Outcome& outcome) {
        Report report({}, Time{});
        report.session_stands();
        report_outcome(outcome, report);
        return report.exit_code();
    };
    mover::Outcome outcome;
    CHECK(code_of(outcome) == 0);
    outcome.failed = 7;
    CHECK(code_of(outcome) == 1);
    outcome.add_failure("x", Error{.fault = Fault::integrity,
                                   .message = "no",
                                   .path = "x",
                                   .side = Side::remote,
                                   .remedy = {}});
    CHECK(code_of(outcome) == 4);
}
