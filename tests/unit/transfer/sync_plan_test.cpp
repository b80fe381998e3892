// What stands there and what was offered, compared.
#include "common/transfer/sync_plan.h"

#include "tests/support/catch.h"

using namespace lambda::transfer;

TEST_CASE("a time without a fraction is compared by seconds, whatever a peer says") {
    CHECK(same_time(5'000'000'001, 5'000'000'001));
    CHECK(same_time(5'999'999'999, 5'000'000'000));
    CHECK(same_time(-1, -1'000'000'000));
    CHECK_FALSE(same_time(6'000'000'000, 5'000'000'000));
    CHECK_FALSE(same_time(4'999'999'999, 5'000'000'000));
    CHECK_FALSE(same_time(5'000'000'002, 5'000'000'001));
    CHECK_FALSE(same_time(INT64_MAX, INT64_MIN));
    CHECK_FALSE(same_time(INT64_MAX, -9'000'000'000'000'000'000));
    CHECK_FALSE(same_time(INT64_MIN, 0));
}
