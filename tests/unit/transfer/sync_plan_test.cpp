// What stands there and what was offered, compared.
#include "common/transfer/sync_plan.h"

#include "tests/support/catch.h"

using namespace lambda::transfer;

TEST_CASE("a time is compared by what a file system of coarser steps keeps, whatever a peer says") {
    CHECK(same_time(5'000'000'001, 5'000'000'001));
    CHECK(same_time(5'999'999'999, 5'000'000'000));
    CHECK(same_time(-1, -1'000'000'000));
    CHECK(same_time(5'129'999'999, 5'120'000'000));
    CHECK_FALSE(same_time(5'130'000'000, 5'120'000'000));
    CHECK(same_time(5'123'456'799, 5'123'456'700));
    CHECK_FALSE(same_time(5'123'456'800, 5'123'456'700));
    CHECK_FALSE(same_time(5'123'456'701, 5'123'456'710));
    CHECK_FALSE(same_time(6'000'000'000, 5'000'000'000));
    CHECK_FALSE(same_time(4'999'999'999, 5'000'000'000));
    CHECK_FALSE(same_time(5'000'000'002, 5'000'000'001));
    CHECK_FALSE(same_time(INT64_MAX, INT64_MIN));
    CHECK_FALSE(same_time(INT64_MAX, -9'000'000'000'000'000'000));
    CHECK_FALSE(same_time(INT64_MIN, 0));
}

TEST_CASE("attributes of a file that has further names are another file's, too") {
    lambda::ports::Standing standing;
    standing.kind = lambda::ports::Standing::Kind::file;
    standing.metadata = {5, 7, 0644};
    Offered offered;
    offered.metadata = {5, 7, 0600};
    const auto verdict = [&] { return judge(offered, standing, {}, {.privileged = false}); };
    CHECK(verdict() == Verdict::attributes);
    standing.further = 1;
    CHECK(verdict() == Verdict::changed);
    offered.further = 1;
    CHECK(verdict() == Verdict::attributes);
    standing.further = 2;
    CHECK(verdict() == Verdict::changed);
    offered.further = 0;
    offered.metadata.mode = 0644;
    CHECK(verdict() == Verdict::stands);
}

namespace {

struct Compared {
    Offered offered;
    lambda::ports::Standing standing;
    lambda::ports::Rights rights;

    Compared() {
        standing.kind = lambda::ports::Standing::Kind::file;
        offered.metadata = standing.metadata = {5, 7, 0644, lambda::ports::Archived{{1000, 100}}};
    }
    Verdict verdict() const { return judge(offered, standing, {}, rights); }
};

}  // namespace

TEST_CASE("set-user-ID counts where it is given") {
    Compared compared;
    compared.offered.metadata.mode = 04755;
    compared.standing.metadata.mode = 0755;
    CHECK(compared.verdict() == Verdict::attributes);
    compared.rights = {.privileged = false, .set_id = false, .user = 1000};
    CHECK(compared.verdict() == Verdict::stands);
    compared.standing.metadata.mode = 04755;
    CHECK(compared.verdict() == Verdict::attributes);
    // A directory's group is handed down, which gives nobody anything.
    compared.offered.kind = OfferRecord::Kind::directory;
    compared.standing.kind = lambda::ports::Standing::Kind::directory;
    compared.offered.metadata.mode = 02755;
    compared.standing.metadata.mode = 0755;
    CHECK(compared.verdict() == Verdict::attributes);
}

TEST_CASE("the root of a jail differs in its time alone") {
    Compared compared;
    compared.offered.kind = OfferRecord::Kind::directory;
    compared.standing.kind = lambda::ports::Standing::Kind::directory;
    compared.offered.metadata.mode = 0;
    compared.offered.metadata.archived->owner = {1, 2};
    CHECK(compared.verdict() == Verdict::attributes);
    compared.standing.fixed = true;
    compared.standing.metadata.archived.reset();
    CHECK(compared.verdict() == Verdict::stands);
    ++compared.offered.metadata.mtime_ns;
    CHECK(compared.verdict() == Verdict::attributes);
}

TEST_CASE("a capability that the source does not have counts, a security module's label does not") {
    Compared compared;
    compared.standing.metadata.archived->extended = {{"security.selinux", "x"}};
    CHECK(compared.verdict() == Verdict::stands);
    compared.standing.metadata.archived->extended = {{"security.capability", "x"}};
    CHECK(compared.verdict() == Verdict::attributes);
}

TEST_CASE("without privilege a group counts where it can be given") {
    Compared compared;
    compared.rights = {.privileged = false, .user = 1000, .groups = {100, 200}};
    auto& offered = compared.offered.metadata.archived->owner;
    offered.group = 200;
    CHECK(compared.verdict() == Verdict::attributes);
    // The owner cannot be given, the group can.
    offered.user = 1;
    CHECK(compared.verdict() == Verdict::attributes);
    offered.group = 300;
    CHECK(compared.verdict() == Verdict::stands);
    // Another's file is not his to give.
    offered = {1000, 200};
    compared.standing.metadata.archived->owner = {1, 100};
    CHECK(compared.verdict() == Verdict::stands);
}
