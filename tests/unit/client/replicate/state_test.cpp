// What a run does where its state fails or is away, and what it forgets of it: in virtual time.
#include "tests/unit/client/replicate/conductor_bench.h"

namespace lambda::client::replicate {
namespace {

// Away for a while, in which it is dialled in vain each five seconds.
class Away final : public ForwardingDatabase {
  public:
    Away(std::unique_ptr<Database> inner, VirtualCrew& crew, WallTime from, WallTime until)
        : ForwardingDatabase(std::move(inner)), crew_(crew), from_(from), until_(until) {}
    Result<std::size_t> run(std::string_view sql, const Values& values, const Each& each) override {
        if (away()) return lost();
        return inner_->run(sql, values, each);
    }
    Result<void> begin() override { return away() ? lost() : inner_->begin(); }
    Result<bool> recover() override {
        if (!away()) return false;
        while (away()) {
            if (meanwhile_) meanwhile_();
            crew_.pass(seconds(5));
        }
        return true;
    }
    void while_waiting(Meanwhile meanwhile) override { meanwhile_ = std::move(meanwhile); }

  private:
    bool away() const { return crew_.now() >= from_ && crew_.now() < until_; }
    static Error lost() {
        return {.fault = Fault::session, .message = "lost", .path = {}, .remedy = {}};
    }
    VirtualCrew& crew_;
    const WallTime from_, until_;
    Meanwhile meanwhile_;
};

TEST_CASE("what runs keeps to the hours while the state is away") {
    const bool rates = GENERATE(false, true);
    CAPTURE(rates);
    JobBench bench(1, rates ? "rates: '00:05-24:00 1Mbit/s'\n" : "windows: mon 00:00-00:05\n");
    bench.world.add("big", 600'000'000);
    bench.world.bytes_per_ms = 1000;  // ten minutes
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.interrupted_at = kMonday + minutes(30);
    bench.store = good(SqlStore::open(
        std::make_unique<Away>(
            good(SqliteDatabase::open(bench.scratch / "state.db",
                                      [&] { return bench.world.now.time_since_epoch().count(); })),
            crew, kMonday + minutes(2), kMonday + minutes(20)),
        "job"));
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::interrupted);
    CHECK(bench.world.sites[0].empty());
    CHECK(bench.world.carried.size() == (rates ? 2 : 1));
}

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
