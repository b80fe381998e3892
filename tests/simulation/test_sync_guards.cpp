// Syncs that may not do what they ask for, whole.
#include "tests/simulation/trees.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::simulation;

TEST_CASE("sync: a transfer that was granted alone takes no other plan") {
    for (const bool erase : {true, false}) {
        Trees trees = small();
        trees.target["dir/extra"] = {};
        trees.target_directories["dir"] = {};
        trees.plan.erase = erase;
        trees.at_server = [](engine::Setup& setup) { setup.only_plan.emplace(); };
        const engine::Outcome outcome = trees.run();
        CHECK(outcome.deleted == 0);
        CHECK(trees.target.contains("dir/extra"));
        CHECK_FALSE(trees.same());
        // What was granted.
        trees.at_server = [&](engine::Setup& setup) { setup.only_plan = trees.plan; };
        CHECK(trees.run().deleted == (erase ? 1 : 0));
        CHECK(trees.target.contains("dir/extra") == !erase);
    }
}
