// What is said at the end of a run.
#include "client/report/summary.h"

#include <nlohmann/json.hpp>

#include "common/base/units.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

namespace {

Summary cut_and_gone_on() {
    Summary summary;
    summary.outcome.files = 3;
    summary.outcome.bytes = 236 * MiB;
    summary.outcome.bytes_kept = 64 * MiB;
    summary.outcome.verified = 3;
    summary.outcome.transfer_seconds = 1;
    summary.seconds = 2;
    return summary;
}

}  // namespace

TEST_CASE("the end says what moved, and what was there already") {
    Summary summary = cut_and_gone_on();
    CHECK(summary_lines(summary) ==
          std::vector<std::string>{"3 files done, 236.00 MiB moved in 2.00 s: 0.990 Gbit/s, the "
                                   "transfer alone 1.980 Gbit/s; 3 verified",
                                   "went on where it was cut: 64.00 MiB more were there already "
                                   "and did not move again"});
    summary.outcome.cuts = 2;
    CHECK(summary_lines(summary)[1] ==
          "went on after 2 cuts: what had not reached the disk by then moved again, and counts "
          "again");
    summary = {};
    summary.outcome.files = 1;
    summary.outcome.adopted = 1;
    summary.outcome.deleted = 2;
    CHECK(summary_lines(summary) ==
          std::vector<std::string>{"1 file done, 0 B moved in 0.00 s; 0 verified",
                                   "1 file stood there already, 0 B; 2 deleted"});
    summary.outcome.sent_packets = 4;
    CHECK(summary_lines(summary)[0] == "1 file done, 0 B moved in 0.00 s; 0 verified");
    summary.outcome.lost_packets = 1;
    CHECK(summary_lines(summary)[0] ==
          "1 file done, 0 B moved in 0.00 s; 0 verified, 1 of 4 packets lost");
    summary.outcome.deleted = 0;
    CHECK(summary_lines(summary).back() == "1 file stood there already, 0 B");
    summary.outcome.mended = 1;
    CHECK(summary_lines(summary).back() ==
          "1 file stood there already, 0 B; 1 of them got other attributes");
    summary.changes.add("attributes", "a", 0);
    summary.changes.add("attributes", "b", 0);  // a directory
    CHECK(summary_lines(summary).back() ==
          "1 file stood there already, 0 B; 2 got other attributes");
    summary.changes.take_off({{.name = "b", .error = {}}, {.name = "moved", .error = {}}});
    summary.changes.take_off({{.name = "b", .error = {}}});
    CHECK(summary_lines(summary).back() ==
          "1 file stood there already, 0 B; 1 got other attributes");
}

TEST_CASE("a run that transferred nothing has no verdict") {
    Summary summary;
    CHECK_FALSE(summary.measured());
    summary.outcome.evidence.law = "sabul";  // agreed on
    CHECK_FALSE(summary.measured());
    summary.outcome.bytes = 1;
    CHECK(summary.measured());
    summary.outcome.bytes = 0;  // on its way as it was cut
    summary.outcome.evidence.sender[verdict::Figure::elapsed] = 1;
    CHECK(summary.measured());
    summary.outcome.evidence.law.clear();
    CHECK_FALSE(summary.measured());
}

TEST_CASE("the end of a dry run says what would be") {
    Summary summary;
    summary.dry_run = true;
    summary.outcome.adopted = 5;
    summary.outcome.adopted_bytes = 3 * MiB;
    summary.outcome.deleted = 1;
    for (const char* word : {"create", "create", "attributes", "delete", "nothing known"})
        summary.changes.add(word, "x", 0);
    summary.changes.add("create", "y", MiB);
    summary.changes.add("replace", "z", 2 * MiB);
    const auto lines = summary_lines(summary);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0] ==
          "dry run, nothing was touched: 3 would be created, 1 replaced, 1 would get other "
          "attributes, 1 would be deleted; 3.00 MiB would move; 5 files, 3.00 MiB, would stay");
    const auto json = nlohmann::json::parse(summary_json(summary, "null"));
    CHECK(json["dry_run"] == true);
    CHECK(json["created"] == 3);
    CHECK(json["replaced"] == 1);
    CHECK(json["attributes"] == 1);
    CHECK(json["deleted"] == 1);
    CHECK(json["planned_bytes"] == 3 * MiB);
    CHECK(json["bytes"] == 0);
    CHECK(json["verdict"] == nullptr);
}
