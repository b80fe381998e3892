// What the swarm draws. That its seeds pass, and find what is planted, the tests swarm* run it for.
#include "tests/support/catch.h"
#include "tools/sim/swarm.h"
#include "tools/sim/swarm_plan.h"

using namespace lambda;
using namespace lambda::simulation;

TEST_CASE("of the swarm's crashes a good part leaves something to go on with") {
    unsigned crashes = 0, resumed = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        if (!draw_plan(seed).crash) continue;
        const SwarmResult result = run_swarm(seed, std::nullopt);
        INFO("seed " << seed);
        CHECK(result.wrong.empty());
        for (const char* kind :
             {"sender killed", "sender gone silently", "receiver killed", "receiver gone silently"})
            crashes += result.faults.contains(kind) ? 1 : 0;
        resumed += result.faults.contains("transfer resumed") ? 1 : 0;
    }
    CHECK(crashes >= 10);
    CHECK(resumed * 3 >= crashes);
}
