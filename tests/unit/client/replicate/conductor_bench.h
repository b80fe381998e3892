// A job, its store and its world, in virtual time.
#pragma once

#include <string>
#include <vector>

#include "client/replicate/conductor.h"
#include "client/replicate/sql_store.h"
#include "client/replicate/sqlite.h"
#include "tests/support/catch.h"
#include "tests/unit/client/replicate/forwarding_database.h"
#include "tests/unit/client/replicate/stores.h"
#include "tests/unit/client/replicate/virtual_crew.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client::replicate {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr WallTime kMonday{hours(24 * 7 * 1000)};

// As one that several hosts have.
struct SharedDatabase final : ForwardingDatabase {
    using ForwardingDatabase::ForwardingDatabase;
    bool shared() const override { return true; }
    Result<bool> conduct() override { return true; }
};

// PostgreSQL's, whose functions of time say what the world's clock says.
class ClockedDatabase final : public ForwardingDatabase {
  public:
    ClockedDatabase(std::unique_ptr<Database> inner, const World& world)
        : ForwardingDatabase(std::move(inner)), world_(world) {}
    // Made once, when the tables are.
    static void set_up(Database& database) {
        good(database.execute(
            "CREATE OR REPLACE FUNCTION now_ms() RETURNS BIGINT LANGUAGE SQL VOLATILE AS "
            "$$ SELECT CAST(current_setting('tests.now') AS BIGINT) $$; "
            "CREATE OR REPLACE FUNCTION since_ms() RETURNS BIGINT LANGUAGE SQL STABLE AS "
            "$$ SELECT CAST(0 AS BIGINT) $$"));
    }
    Result<std::size_t> run(std::string_view sql, const Values& values, const Each& each) override {
        tell();
        return inner_->run(sql, values, each);
    }
    Result<void> begin() override {
        tell();
        return inner_->begin();
    }

  private:
    void tell() {  // no time passes within a transaction
        if (std::exchange(told_, world_.now) == world_.now) return;
        good(inner_->execute("SET tests.now = " +
                             std::to_string(world_.now.time_since_epoch().count())));
    }
    const World& world_;
    std::optional<WallTime> told_{};
};

struct JobBench {
    const bool shared;
    Scratch scratch;
    World world;
    Job job;
    std::unique_ptr<Store> store;
    int processes = 0;
    std::vector<std::string> said;
    std::string uri;  // of PostgreSQL, where the state is there

    // `fresh`: a database of PostgreSQL's; none: SQLite has the state.
    explicit JobBench(std::size_t sites, const std::string& more = {}, bool is_shared = false,
                      std::string fresh = {})
        : shared(is_shared), uri(std::move(fresh)) {
        if (!uri.empty()) {
            const auto database = good(PostgresDatabase::open(uri, minutes(1)));
            good(SqlStore::open(good(PostgresDatabase::open(uri, minutes(1))), "first"));
            ClockedDatabase::set_up(*database);
        }
        std::string text = "sources: /data/\ndestinations:\n";
        for (std::size_t i = 0; i < sites; ++i) text += "  - site" + std::to_string(i) + ":x\n";
        const auto parsed = parse_job(text + more, "/job.yaml", {});
        INFO((parsed ? "" : parsed.error().sentence()));
        REQUIRE(parsed.ok());
        job = *parsed;
        world.sites.resize(sites);
        reopen();
    }
    std::unique_ptr<Store> open() {
        if (!uri.empty()) {
            auto database = good(PostgresDatabase::open(uri, minutes(1)));
            return good(SqlStore::open(
                std::make_unique<ClockedDatabase>(std::move(database), world), "job"));
        }
        auto made = SqliteDatabase::open(scratch / "state.db",
                                         [this] { return world.now.time_since_epoch().count(); });
        REQUIRE(made.ok());
        std::unique_ptr<Database> database = *std::move(made);
        if (shared) database = std::make_unique<SharedDatabase>(std::move(database));
        auto opened = SqlStore::open(std::move(database), "job");
        REQUIRE(opened.ok());
        return *std::move(opened);
    }
    void reopen() {
        store.reset();
        store = open();
        REQUIRE(*store->conduct());
    }
    Run begin(WallTime now) {
        std::vector<std::string> places;
        for (const Site& site : job.sites) places.push_back(site.text);
        world.now = now;
        if (const auto last = store->last_run(); last.ok() && *last)
            REQUIRE(store->end_run((*last)->id, RunState::done, "process").ok());
        const auto joined = store->join(job.shape(), places, "process");
        REQUIRE(joined.ok());
        REQUIRE_FALSE(joined->joined);
        return joined->run;
    }
    Result<Ending> conduct(const Run& run, VirtualCrew& crew) {
        Conductor conductor(job, *store, crew, "process " + std::to_string(++processes),
                            [this](const std::string& text) { said.push_back(text); });
        return conductor.conduct(run);
    }
    void fill(int files, std::uint64_t size) {
        for (int i = 0; i < files; ++i) world.add("f" + std::to_string(i), size);
    }
    void check_identical() {
        for (const auto& site : world.sites) CHECK(site.size() == world.source.size());
        for (const auto& [what, times] : world.moved) {
            CAPTURE(what.first, what.second);
            CHECK(times == 1);
        }
    }
};

}  // namespace lambda::client::replicate
