// What a run does where its state fails or is away, and what it forgets of it: in virtual time.
#include "tests/unit/client/replicate/conductor_bench.h"

namespace lambda::client::replicate {
namespace {

TEST_CASE("what a process did and could not reach is known though its state fails") {
    JobBench bench(2, "patience: 0s\nbatch_files: 1\n");
    bench.fill(10, 1'000'000);
    bench.world.bytes_per_ms = 1000;
    bench.world.down = [](std::size_t site, WallTime) { return site == 1; };
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 2, kMonday);
    bool failed = false;
    crew.at_wait = [&](WallTime at) {
        if (at < kMonday + seconds(5) || std::exchange(failed, true)) return;
        good(good(SqliteDatabase::open(bench.scratch / "state.db"))->execute("DROP TABLE mover"));
    };
    Conductor conductor(bench.job, *bench.store, crew, "one", [](const std::string&) {});
    const auto ending = conductor.conduct(run);
    REQUIRE_FALSE(ending.ok());
    CHECK(ending.error().fault == Fault::file);
    CHECK(conductor.known().unreached.size() == 1);
    CHECK(conductor.known().moved.files > 0);
    CHECK(conductor.known().moved.transfer_seconds < 7);
}

TEST_CASE("a run forgets the work of those before while it does its own") {
    JobBench bench(1);
    bench.fill(10, 10);
    VirtualCrew crew(bench.world, 1, kMonday);
    Run run;
    for (int i = 0; i < 3; ++i) {
        bench.world.sites[0].clear();
        run = bench.begin(crew.now());
        REQUIRE(bench.conduct(run, crew).ok());
    }
    const auto state = good(SqliteDatabase::open(bench.scratch / "state.db"));
    for (const char* table : {"task", "lease", "site"}) {
        CAPTURE(table);
        const std::string of = std::string("SELECT 1 FROM ") + table + " WHERE run ";
        CHECK(good(state->run(of + "= $1", {run.id}, {})) > 0);
        CHECK(good(state->run(of + "!= $1", {run.id}, {})) == 0);
    }
    CHECK(bench.store->runs(10)->size() == 3);
}

}  // namespace
}  // namespace lambda::client::replicate
