#include "common/base/jain.h"

#include <vector>

#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("Jain's index is 1 where all have the same, and 1/n where one has all") {
    CHECK(jain(std::vector<double>{1, 1, 1, 1}) == Approx(1));
    CHECK(jain(std::vector<double>{1, 0, 0, 0}) == Approx(0.25));
    CHECK(jain(std::vector<double>{1, 3}) == Approx(0.8));
    CHECK(jain(std::vector<double>{0, 0}) == 1);
    CHECK(jain({}) == 1);
}
