// Stores to be tested, in SQLite and in PostgreSQL, and what their tests share.
#pragma once

#include <iostream>

#include "client/replicate/sql_store.h"
#include "client/replicate/sqlite.h"
#include "tests/support/catch.h"
#include "tests/unit/client/replicate/postgres_server.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client::replicate {

using std::chrono::milliseconds;
using std::chrono::minutes;

template <typename T>
T good(Result<T> result) {
    INFO((result ? "" : result.error().sentence()));
    REQUIRE(result.ok());
    return *std::move(result);
}
inline void good(const Result<void>& result) {
    INFO((result ? "" : result.error().sentence()));
    REQUIRE(result.ok());
}

// One server for all tests of the process.
inline PostgresServer& postgres() {
    static PostgresServer server;
    return server;
}

// A place for states, and their time.
class Bench {
  public:
    bool young = false;  // PostgreSQL was started a moment ago

    explicit Bench(bool shared) : shared_(shared) {
        if (shared_) uri_ = postgres().fresh();
    }
    std::unique_ptr<SqlStore> open(const std::string& job = "job") {
        return good(SqlStore::open(database(), job));
    }
    std::unique_ptr<Database> database() {
        if (shared_) return good(PostgresDatabase::open(uri_, minutes(1)));
        return good(SqliteDatabase::open(scratch_ / "deep/er/state.db", [this] { return now_; }));
    }
    // Time goes on; in PostgreSQL all that is set for a time comes nearer.
    void pass(milliseconds time) {
        now_ += time.count();
        if (!shared_) return;
        const std::string less = " - " + std::to_string(time.count());
        good(database()->execute(
            "UPDATE lease SET until = until" + less + "; UPDATE mover SET until = until" + less +
            ", heartbeat = heartbeat" + less + "; UPDATE task SET not_before = not_before" + less));
        good(database()->execute(
            std::string("CREATE OR REPLACE FUNCTION since_ms() RETURNS BIGINT LANGUAGE SQL ") +
            "VOLATILE AS $$ SELECT CAST(" + (young ? "now_ms()" : "0") + " AS BIGINT) $$"));
    }

  private:
    bool shared_;
    Scratch scratch_;
    std::string uri_;
    std::int64_t now_ = 1'000'000;
};

// Whether PostgreSQL is to be tried, and can.
inline bool shared_or_not() {
    return GENERATE(false, true);
}
inline bool to_be_had(bool shared) {
    static const bool there = !PostgresServer::programs().empty();
    static const bool said = [] {
        if (!there) std::cerr << "stores in PostgreSQL: SKIPPED: it is not installed here\n";
        return true;
    }();
    return said && (!shared || there);
}

inline Planned files(std::initializer_list<std::pair<const char*, std::uint64_t>> all) {
    Planned planned;
    for (const auto& [name, size] : all)
        planned.tasks.push_back(
            {.root = 0, .name = name, .standing = {.size = size, .mtime_ns = 7}, .refused = {}});
    return planned;
}

inline LeaseRequest request(std::int64_t run, TaskState from = TaskState::waiting,
                            const std::string& owner = "me") {
    static std::uint64_t tickets = 0;
    return {.owner = owner,
            .ticket = ++tickets,
            .run = run,
            .site = 0,
            .from = from,
            .most_files = 10,
            .most_bytes = 100,
            .one_directory = false,
            .lives = milliseconds(10'000)};
}

inline Run begin(Store& store, const std::string& shape = "shape",
                 std::vector<std::string> sites = {"a"}) {
    const auto joined = good(store.join(shape, sites, "me"));
    REQUIRE_FALSE(joined.joined);
    return joined.run;
}
inline void forget_all(Store& store, const Run& run) {
    while (good(store.forget(run.id))) continue;
}
inline void plan(Store& store, const Run& run, const Planned& planned, std::uint32_t site = 0) {
    LeaseRequest wanted = request(run.id);
    wanted.site = site;
    const auto lead = good(store.lead(wanted));
    REQUIRE(lead != 0);
    REQUIRE(good(store.plan(lead, planned, {})));
}

inline std::vector<std::string> names(const std::vector<Task>& tasks) {
    std::vector<std::string> all;
    for (const Task& task : tasks) all.push_back(task.name);
    return all;
}
using Names = std::vector<std::string>;
inline Names leased(Store& store, const LeaseRequest& request) {
    return names(good(store.lease(request)).tasks);
}
inline std::vector<Settled> all_done(const Lease& lease) {
    std::vector<Settled> settled;
    for (const Task& task : lease.tasks)
        settled.push_back({.id = task.id, .state = TaskState::done, .moved = true});
    return settled;
}

#define FOR_EVERY_STORE(bench)           \
    const bool shared = shared_or_not(); \
    if (!to_be_had(shared)) return;      \
    CAPTURE(shared);                     \
    Bench bench(shared)

}  // namespace lambda::client::replicate
