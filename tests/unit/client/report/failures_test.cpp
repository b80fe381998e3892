// Files that failed, as users are told of them.
#include "client/report/failures.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

namespace {

engine::FileFailure failure(const std::string& name, const std::string& message) {
    return {.name = name,
            .error = {.fault = Fault::cut,
                      .message = message,
                      .path = {},
                      .side = Side::remote,
                      .remedy = {}}};
}

}  // namespace

TEST_CASE("what a directory's failure brings with it stands in its line") {
    const auto lines = failure_lines(
        {failure("runs/a", "cannot open: no leave"), failure("runs", "cannot make: no leave"),
         failure("runs/b", "damaged"), failure("runs/deep", "no leave"),
         failure("runs/deep/c", "no leave"), failure("runs2", "no leave")});
    REQUIRE(lines.size() == 6);
    const std::vector<std::size_t> below = {lines[0].below, lines[1].below, lines[2].below,
                                            lines[3].below, lines[4].below, lines[5].below};
    CHECK(below == std::vector<std::size_t>{0, 3, 0, 0, 0, 0});
    for (const std::size_t folded : {0, 3, 4}) CHECK(lines[folded].below_another);
    for (const std::size_t told : {1, 2, 5}) CHECK_FALSE(lines[told].below_another);
    CHECK(lines[1].for_those_below() == " (and 3 entries below it)");
    CHECK(lines[2].for_those_below().empty());
    CHECK(lines[2].error.path == "runs/b");
    CHECK(lines[2].error.fault == Fault::file);  // no session was cut

    // Of one cause, but each for itself.
    const auto each = failure_lines({failure("d", "cannot set the owner: no leave"),
                                     failure("d/a", "cannot set the owner: no leave"),
                                     failure("d/b", "cannot open: no leave"),
                                     failure("e", "cannot open the directory: no leave"),
                                     failure("e/f", "cannot delete: no leave")});
    for (const FailureLine& line : each) CHECK_FALSE(line.below_another);

    const auto all = failure_lines({failure(".", "no leave"), failure("a", "no leave")});
    CHECK(all[0].below == 1);
    CHECK(all[1].below_another);
}
