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

TEST_CASE("sync: nothing in the way goes before all that moves has been read") {
    for (const bool readable : {false, true}) {
        Trees trees = small();
        trees.run();
        trees.target.erase("dir/a");
        trees.target["dir/a/in the way"] = {};
        trees.target_directories["dir/a"] = {};
        trees.source["b"].mtime_ns = 77;
        trees.plan.erase = true;
        if (!readable) trees.unreadable = "b";
        CHECK(trees.run().deleted == (readable ? 2 : 0));
        CHECK(trees.target.contains("dir/a/in the way") == !readable);
        CHECK(trees.same() == readable);
    }
}

TEST_CASE("sync: what is ignored and in the way is neither counted nor deleted") {
    for (const auto direction : kBoth) {
        Trees trees = small();
        trees.run(direction);
        trees.target.erase("dir/a");
        trees.target["dir/a/in the way"] = {};
        trees.target_directories["dir/a"] = {};
        // And the other way around.
        trees.target.erase("dir/sub/c");
        trees.target.erase("dir/sub/d");
        trees.target_directories.erase("dir/sub");
        trees.target["dir/sub"] = {};
        trees.target["dir/extra"] = {};
        trees.plan.erase = trees.plan.ignore_existing = true;
        trees.plan.max_delete = 1;
        const engine::Outcome outcome = trees.run(direction);
        CHECK(outcome.failed == 0);
        CHECK(outcome.deleted == 1);
        CHECK(trees.told.lines == std::vector<std::string>{"delete extra"});
        CHECK(trees.target.contains("dir/a/in the way"));
        CHECK(trees.target.at("dir/sub").bytes.empty());
        CHECK_FALSE(trees.target.contains("dir/sub/c"));
    }
}

TEST_CASE("sync: a target that is slow to be looked at holds the sender back") {
    Options with;
    with.adjust = [](bool, engine::Setup& setup) {
        if (setup.is_client) setup.plan = {.whole = true};
    };
    Run now(5, with, {}, {"dir", true});
    now.tree.latency = 100ms;
    now.target.directories["dir"] = {};
    const ports::Found itself{.kind = ports::Found::Kind::directory, .path = ".", .name = "."};
    now.walker.entries.push_back(itself);
    for (int i = 100'000; i < 160'000; ++i) {
        const std::string name = "pipe" + std::to_string(i);
        now.walker.entries.push_back(
            {.kind = ports::Found::Kind::skipped, .path = name, .name = name, .text = "a pipe"});
    }
    now.walker.entries.push_back({.kind = ports::Found::Kind::leave});
    CHECK(now.run());
    CHECK_FALSE(now.sender->outcome().cut);
    CHECK(now.sender->outcome().skipped == 60'000);
}
