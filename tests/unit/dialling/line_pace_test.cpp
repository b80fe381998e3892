// An answer that drips is not waited for for ever.
#include "common/dialling/line_pace.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::dialling;

TEST_CASE("an answer's lines come at a pace, or its wait ends") {
    const Duration each = std::chrono::seconds(60);
    const Time begin{};
    LinePace pace(begin, each);
    CHECK(pace.deadline() == begin + each);
    const Time first = begin + std::chrono::seconds(50);
    pace.came(first);
    CHECK(pace.deadline() == first + each);
    for (std::size_t i = 1; i < LinePace::kLeast; ++i) pace.came(first + each / 2);
    CHECK(pace.deadline() == first + each);  // it drips
    pace.came(first + each / 2);
    CHECK(pace.deadline() == first + each / 2 + each);
}
