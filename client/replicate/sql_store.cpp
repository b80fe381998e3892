#include "client/replicate/sql_store.h"

#include "client/replicate/postgres.h"
#include "client/replicate/sql_words.h"
#include "client/replicate/sqlite.h"

namespace lambda::client::replicate {
namespace {

constexpr std::int64_t kVersion = 4;
// Of a job, of which history tells.
constexpr std::int64_t kMostRuns = 1000;
constexpr Milliseconds kLongGone = std::chrono::hours(24);

// KEY stands for what Dialect::key says.
constexpr const char* kTables = R"(
CREATE TABLE job(id KEY, name BYTEA UNIQUE, request BIGINT, made BIGINT);
CREATE TABLE run(id KEY, job BIGINT, shape BYTEA, state BIGINT DEFAULT 0, started BIGINT,
                 ended BIGINT DEFAULT 0, files BIGINT DEFAULT 0, bytes BIGINT DEFAULT 0,
                 failed BIGINT DEFAULT 0, given_up BIGINT DEFAULT 0);
CREATE INDEX run_of_job ON run(job, id);
CREATE TABLE site(run BIGINT, number BIGINT, place BYTEA, state BIGINT DEFAULT 0, trouble BYTEA,
                  same_files BIGINT DEFAULT 0, same_bytes BIGINT DEFAULT 0,
                  lease BIGINT DEFAULT 0, PRIMARY KEY(run, number));
CREATE TABLE task(id KEY, run BIGINT, site BIGINT, state BIGINT, kind BIGINT, root BIGINT,
                  name BYTEA, size BIGINT, mtime BIGINT, mode BIGINT, attempts BIGINT DEFAULT 0,
                  not_before BIGINT DEFAULT 0, lease BIGINT DEFAULT 0, moved BIGINT DEFAULT 0,
                  fault BIGINT DEFAULT 0, side BIGINT DEFAULT 0, reason BYTEA,
                  piece BIGINT DEFAULT 0, part BIGINT DEFAULT 0, first BIGINT DEFAULT 0,
                  last BIGINT DEFAULT 0);
CREATE INDEX task_of_site ON task(run, site, state, kind, id);
CREATE INDEX task_of_lease ON task(lease);
CREATE INDEX task_of_part ON task(run, site, part, piece, state);
CREATE TABLE lease(id KEY, run BIGINT, site BIGINT, kind BIGINT, task BIGINT, owner BYTEA,
                   ticket BIGINT,
                   began BIGINT, lives BIGINT, until BIGINT, ended BIGINT DEFAULT 0,
                   lost BIGINT DEFAULT 0, files BIGINT DEFAULT 0, bytes BIGINT DEFAULT 0);
CREATE INDEX lease_of_run ON lease(run, ended);
CREATE INDEX lease_of_owner ON lease(owner, ended);
CREATE TABLE mover(job BIGINT, owner BYTEA, heartbeat BIGINT, until BIGINT, doing BYTEA,
                   PRIMARY KEY(job, owner));
)";

std::string tables(const Dialect& dialect) {
    std::string text = kTables;
    for (std::size_t at = text.find("id KEY"); at != text.npos; at = text.find("id KEY", at))
        text.replace(at + 3, 3, dialect.key);
    return text;
}

constexpr const char* kRun =
    "SELECT id, shape, state, started, ended, files, bytes, failed, given_up FROM run ";
Run run_of(const Row& row) {
    return {.id = row.integer(0),
            .shape = row.text(1),
            .state = static_cast<RunState>(row.integer(2)),
            .started = wall(row.integer(3)),
            .ended = wall(row.integer(4)),
            .moved = {unsigned_of(row.integer(5)), unsigned_of(row.integer(6))},
            .failed = unsigned_of(row.integer(7)),
            .given_up = unsigned_of(row.integer(8))};
}

}  // namespace

Error other_version(const Database& database, std::int64_t found) {
    return Error{.fault = Fault::file,
                 .message = "is the state of another version (" + std::to_string(found) + ")",
                 .path = database.name(),
                 .side = Side::local,
                 .remedy = "name another one as `state`"};
}

Result<std::unique_ptr<Store>> open_store(const std::string& state, const std::string& job,
                                          Duration patience, Milliseconds longest_pause) {
    std::unique_ptr<Database> database;
    if (is_postgres(state)) {
        auto opened = PostgresDatabase::open(state, patience);
        if (!opened) return opened.error();
        database = *std::move(opened);
    } else {
        auto opened = SqliteDatabase::open(state);
        if (!opened) return opened.error();
        database = *std::move(opened);
    }
    auto store = SqlStore::open(std::move(database), job, longest_pause);
    if (!store) return store.error();
    return std::unique_ptr<Store>(*std::move(store));
}

Result<std::unique_ptr<SqlStore>> SqlStore::open(std::unique_ptr<Database> database,
                                                 const std::string& job,
                                                 Milliseconds longest_pause) {
    std::unique_ptr<SqlStore> store(new SqlStore(std::move(database), longest_pause));
    const auto made = store->persist<bool>([&](bool) -> Result<bool> {
        Database& on = *store->database_;
        const auto stand = on.make_tables(tables(on.dialect()), kVersion);
        return stand ? Result<bool>(true) : stand.error();
    });
    if (!made) return made.error();
    const auto known = store->keep<bool>([&](bool) -> Result<bool> {
        Database& on = *store->database_;
        auto done = on.run(
            "INSERT INTO job(name, request, made) VALUES($1, 0, now_ms()) "
            "ON CONFLICT DO NOTHING",
            {job});
        if (!done) return done.error();
        done = on.run("SELECT id, made FROM job WHERE name = $1", {job}, [&](const Row& row) {
            store->job_ = row.integer(0);
            store->epoch_ = std::to_string(row.integer(0)) + "-" + std::to_string(row.integer(1));
        });
        if (!done) return done.error();
        return true;
    });
    if (!known) return known.error();
    return store;
}

Result<std::size_t> SqlStore::run_alone(std::string_view sql, const Values& values,
                                        const Database::Each& each) {
    return persist<std::size_t>([&](bool) { return database_->run(sql, values, each); });
}

// ---- runs

Result<std::vector<Run>> SqlStore::runs_of(const std::string& sql, const Values& values) {
    std::vector<Run> runs;
    const auto read =
        database_->run(kRun + sql, values, [&](const Row& row) { runs.push_back(run_of(row)); });
    if (!read) return read.error();
    return runs;
}

Result<std::vector<Run>> SqlStore::runs(std::size_t most) {
    return keep<std::vector<Run>>([&](bool) {
        return runs_of("WHERE job = $1 ORDER BY id DESC LIMIT $2", {job_, number(most)});
    });
}

Result<std::optional<Run>> SqlStore::last_run() {
    auto last = runs(1);
    if (!last) return last.error();
    return last->empty() ? std::nullopt : std::optional(std::move(last->front()));
}

Result<std::optional<Run>> SqlStore::run(std::int64_t id) {
    auto found = keep<std::vector<Run>>([&](bool) { return runs_of("WHERE id = $1", {id}); });
    if (!found) return found.error();
    return found->empty() ? std::nullopt : std::optional(std::move(found->front()));
}

Result<Store::Joined> SqlStore::join(const std::string& shape,
                                     const std::vector<std::string>& sites,
                                     const std::string& owner) {
    return keep<Joined>([&](bool) -> Result<Joined> {
        Request request = Request::none;
        const auto alone = database_->run(
            std::string("SELECT request FROM job WHERE id = $1") + database_->dialect().for_update,
            {job_}, [&](const Row& row) { request = static_cast<Request>(row.integer(0)); });
        if (!alone) return alone.error();
        auto last = runs_of("WHERE job = $1 ORDER BY id DESC LIMIT 1", {job_});
        if (!last) return last.error();
        Joined joined;
        if (!last->empty() && last->front().state == RunState::running) {
            const auto others = others_work(owner);
            if (!others) return others.error();
            const bool same = last->front().shape == shape;
            // Who should have heard it is gone.
            const bool cancelled = request == Request::cancel && !*others;
            if (same && !cancelled)
                return Joined{.run = last->front(), .joined = true, .replaced = {}};
            if (*others) {
                return Error{.fault = Fault::usage,
                             .message =
                                 "others are at work on this job with other sources, "
                                 "destinations or patterns",
                             .path = database_->name(),
                             .side = Side::local,
                             .remedy =
                                 "give all movers the same job file, or this job another "
                                 "`name`; who died counts as at work for its `lease`"};
            }
            if (auto ended = end(last->front().id, RunState::cancelled); !ended)
                return ended.error();
            if (!same) joined.replaced = last->front();
        }
        auto begun = begin_run(shape, sites);
        if (!begun) return begun.error();
        joined.run = *std::move(begun);
        return joined;
    });
}

Result<bool> SqlStore::others_work(const std::string& owner) {
    if (!shared()) return false;
    const auto others = database_->run(
        "SELECT 1 FROM mover WHERE job = $1 AND owner != $2 AND until > now_ms()", {job_, owner});
    if (!others) return others.error();
    return *others > 0;
}

Result<Run> SqlStore::begin_run(const std::string& shape, const std::vector<std::string>& sites) {
    Run run{.shape = shape};
    auto done = database_->run(
        "INSERT INTO run(job, shape, started) VALUES($1, $2, now_ms()) RETURNING id, started",
        {job_, shape}, [&](const Row& row) {
            run.id = row.integer(0);
            run.started = wall(row.integer(1));
        });
    if (!done) return done.error();
    done = database_->run("UPDATE job SET request = 0 WHERE id = $1 AND request = 2", {job_});
    if (!done) return done.error();
    // Those that died.
    done = database_->run("DELETE FROM mover WHERE job = $1 AND until < now_ms() - $2",
                          {job_, std::int64_t{kLongGone.count()}});
    if (!done) return done.error();
    const auto made = database_->run_many("INSERT INTO site(run, number, place) VALUES($1, $2, $3)",
                                          sites.size(), [&](std::size_t i, Values& values) {
                                              values = {run.id, number(i), sites[i]};
                                          });
    if (!made) return made.error();
    return run;
}

// Of a table with an id. `which` has the order of an index, so that no step looks for its rows.
Result<std::size_t> SqlStore::delete_some(const std::string& table, const std::string& which,
                                          const std::string& lock, const Values& values) {
    const std::string some = "SELECT id FROM " + table + " WHERE " + which + " LIMIT " +
                             std::to_string(kForgottenAtOnce) + lock;
    return database_->run("DELETE FROM " + table + " WHERE id IN (" + some + ")", values);
}

// Of the run before, movers on other hosts may still tell. What another one deletes at the same
// time is its to delete.
Result<bool> SqlStore::forget(std::int64_t run) {
    const std::string before =
        shared() ? "(SELECT max(id) FROM run WHERE job = $1 AND id < $2)" : "$2";
    const std::string old = "FROM run WHERE job = $1 AND id < " + before;
    const auto some_of = [&](const std::string& table, const std::string& order) {
        return delete_some(table,
                           "run = (SELECT min(id) " + old + " AND EXISTS(SELECT 1 FROM " + table +
                               " WHERE " + table + ".run = run.id)) ORDER BY " + order,
                           database_->dialect().skip_locked, {job_, run});
    };
    return keep<bool>([&](bool) -> Result<bool> {
        auto gone = some_of("task", "site, state, kind, id");
        if (!gone) return gone.error();
        if (*gone > 0) return true;
        gone = some_of("lease", "ended");
        if (!gone) return gone.error();
        if (*gone > 0) return true;
        gone = database_->run("DELETE FROM site WHERE run IN (SELECT id " + old + ")", {job_, run});
        if (!gone) return gone.error();
        gone = database_->run(
            "DELETE FROM run WHERE job = $1 AND id < (SELECT min(id) FROM "
            "(SELECT id FROM run WHERE job = $1 ORDER BY id DESC LIMIT $2) AS kept)",
            {job_, kMostRuns});
        if (!gone) return gone.error();
        return false;
    });
}

Result<bool> SqlStore::end_run(std::int64_t run, RunState state, const std::string& owner) {
    return keep<bool>([&](bool again) -> Result<bool> {
        const auto ended = end(run, state);
        if (!ended) return ended;
        if (!*ended) return again ? ended_by(run, owner) : ended;
        const auto said = database_->run(
            "INSERT INTO lease(run, site, kind, owner, ticket, began, lives, until, ended, task) "
            "VALUES($1, 0, $2, $3, 0, now_ms(), 0, now_ms(), now_ms(), 0)",
            {run, kToEnd, owner});
        if (!said) return said.error();
        return true;
    });
}

// After a commit in doubt.
Result<bool> SqlStore::ended_by(std::int64_t run, const std::string& owner) {
    const auto read = database_->run(
        "SELECT 1 FROM lease WHERE run = $1 AND kind = $2 AND owner = $3", {run, kToEnd, owner});
    if (!read) return read.error();
    return *read > 0;
}

Result<bool> SqlStore::end(std::int64_t run, RunState state) {
    const auto ended = database_->run(
        "UPDATE run SET state = $2, ended = now_ms(), "
        "files = (SELECT count(*) FROM task WHERE run = $1 AND moved = 1 AND kind = 0 "
        "         AND piece != 1), "
        "bytes = (SELECT " +
            std::string(kBytes) +
            " FROM task WHERE run = $1 AND moved = 1 AND kind = 0), "
            "failed = (SELECT count(*) FROM task WHERE run = $1 AND state != 3 AND piece != 1), "
            "given_up = (SELECT count(*) FROM site WHERE run = $1 AND state = 4) "
            "WHERE id = $1 AND state = 0",
        {run, number(state)});
    if (!ended) return ended.error();
    if (state == RunState::cancelled) {
        const auto heard =
            database_->run("UPDATE job SET request = 0 WHERE id = $1 AND request = 2", {job_});
        if (!heard) return heard.error();
    }
    return *ended > 0;
}

// ---- what stands

Result<Store::View> SqlStore::view(std::int64_t run) {
    View view{.run = RunState::cancelled, .request = Request::none, .sites = {}, .listings = {}};
    const auto read = run_alone(
        "SELECT run.state, job.request, site.state, site.lease FROM run, job, site "
        "WHERE run.id = $1 AND job.id = run.job AND site.run = run.id ORDER BY site.number",
        {run}, [&](const Row& row) {
            view.run = static_cast<RunState>(row.integer(0));
            view.request = static_cast<Request>(row.integer(1));
            view.sites.push_back(static_cast<SiteState>(row.integer(2)));
            view.listings.push_back(row.integer(3));
        });
    if (!read) return read.error();
    return view;
}

Result<std::vector<SiteStatus>> SqlStore::sites(std::int64_t run) {
    using Sites = std::vector<SiteStatus>;
    return keep<Sites>([&](bool) -> Result<Sites> {
        Sites sites;
        auto read = database_->run(
            "SELECT state, place, trouble, same_files, same_bytes FROM site WHERE run = $1 "
            "ORDER BY number",
            {run}, [&](const Row& row) {
                sites.push_back(
                    {.state = static_cast<SiteState>(row.integer(0)),
                     .place = row.text(1),
                     .trouble = row.text(2),
                     .same = {unsigned_of(row.integer(3)), unsigned_of(row.integer(4))}});
            });
        if (!read) return read.error();
        read = database_->run(
            "SELECT site, state, kind, count(CASE piece WHEN 1 THEN NULL ELSE 1 END), " +
                std::string(kBytes) + " FROM task WHERE run = $1 GROUP BY site, state, kind",
            {run}, [&](const Row& row) {
                const auto site = unsigned_of(row.integer(0));
                if (site >= sites.size()) return;
                SiteStatus& status = sites[site];
                const auto state = static_cast<TaskState>(row.integer(1));
                const Tally tally{unsigned_of(row.integer(3)), unsigned_of(row.integer(4))};
                if (state == TaskState::failed) {
                    status.failed += tally.files;
                } else if (static_cast<Kind>(row.integer(2)) == Kind::file) {
                    Tally& into = state == TaskState::done ? status.moved : status.waiting;
                    into.files += tally.files;
                    into.bytes += tally.bytes;
                }
            });
        if (!read) return read.error();
        return sites;
    });
}

Result<void> SqlStore::set_trouble(std::int64_t run, std::uint32_t site,
                                   const std::string& trouble) {
    const auto set = run_alone("UPDATE site SET trouble = $3 WHERE run = $1 AND number = $2",
                               {run, std::int64_t{site}, trouble});
    return set ? Result<void>() : set.error();
}

Result<bool> SqlStore::give_up(std::int64_t run, std::uint32_t site, const std::string& owner,
                               const std::string& trouble) {
    return keep<bool>([&](bool) -> Result<bool> {
        const auto others = read_others(owner);
        if (!others) return others.error();
        if (!others->empty()) return false;
        const auto set = database_->run(
            "UPDATE site SET state = 4, trouble = $3 WHERE run = $1 AND number = $2 "
            "AND state IN (0, 1, 2)",
            {run, std::int64_t{site}, trouble});
        if (!set) return set.error();
        return true;
    });
}

Result<void> SqlStore::hope_again(std::int64_t run) {
    const auto set = run_alone(
        "UPDATE site SET state = 0 WHERE run = $1 AND state = 4 AND NOT EXISTS("
        "SELECT 1 FROM lease WHERE lease.run = $1 AND lease.site = number AND ended = 0)",
        {run});
    return set ? Result<void>() : set.error();
}

// ---- movers

Result<std::set<std::int64_t>> SqlStore::beat(const Mover& mover, Milliseconds lives) {
    using Leases = std::set<std::int64_t>;
    return keep<Leases>([&](bool) -> Result<Leases> {
        Leases mine;
        auto done = database_->run(
            "UPDATE lease SET until = now_ms() + $2 WHERE owner = $1 AND ended = 0 RETURNING id",
            {mover.owner, std::int64_t{lives.count()}},
            [&](const Row& row) { mine.insert(row.integer(0)); });
        if (!done) return done.error();
        if (!shared()) {  // who conducts is alone
            done = database_->run("DELETE FROM mover WHERE owner != $1", {mover.owner});
            if (!done) return done.error();
        }
        done = database_->run(
            "INSERT INTO mover(job, owner, heartbeat, until, doing) "
            "VALUES($1, $2, now_ms(), now_ms() + $3, $4) ON CONFLICT(job, owner) DO UPDATE "
            "SET heartbeat = excluded.heartbeat, until = excluded.until, doing = excluded.doing",
            {job_, mover.owner, std::int64_t{lives.count()}, mover.doing});
        if (!done) return done.error();
        return mine;
    });
}

Result<Store::Heard> SqlStore::read_others(const std::string& owner) {
    Heard others;
    if (!shared()) return others;
    const auto read = database_->run(
        "SELECT owner, heartbeat FROM mover WHERE job = $1 AND owner != $2 AND NOT (" +
            gone("until - heartbeat") + ")",
        {job_, owner}, [&](const Row& row) { others.emplace(row.text(0), wall(row.integer(1))); });
    if (!read) return read.error();
    return others;
}

Result<Store::Heard> SqlStore::others(const std::string& owner) {
    return persist<Heard>([&](bool) { return read_others(owner); });
}

Result<std::vector<Mover>> SqlStore::movers() {
    std::vector<Mover> movers;
    if (!database_->somebody_conducts()) return movers;
    const auto read = run_alone(
        "SELECT owner, heartbeat, doing FROM mover WHERE job = $1 AND (until > now_ms() OR $2 = 0) "
        "ORDER BY owner",
        {job_, std::int64_t{shared() ? 1 : 0}}, [&](const Row& row) {
            movers.push_back(
                {.owner = row.text(0), .heartbeat = wall(row.integer(1)), .doing = row.text(2)});
        });
    if (!read) return read.error();
    return movers;
}

Result<std::vector<MoverTally>> SqlStore::tallies(std::int64_t run) {
    std::vector<MoverTally> all;
    const auto read = run_alone(
        "SELECT owner, CAST(sum(files) AS BIGINT), CAST(sum(bytes) AS BIGINT), count(*), "
        "CAST(sum(lost) AS BIGINT) FROM lease WHERE run = $1 AND kind = 0 GROUP BY owner "
        "ORDER BY owner",
        {run}, [&](const Row& row) {
            all.push_back({.owner = row.text(0),
                           .moved = {unsigned_of(row.integer(1)), unsigned_of(row.integer(2))},
                           .leases = unsigned_of(row.integer(3)),
                           .lost = unsigned_of(row.integer(4))});
        });
    if (!read) return read.error();
    return all;
}

Result<Request> SqlStore::request() {
    Request request = Request::none;
    const auto read =
        run_alone("SELECT request FROM job WHERE id = $1", {job_},
                  [&](const Row& row) { request = static_cast<Request>(row.integer(0)); });
    if (!read) return read.error();
    return request;
}

Result<bool> SqlStore::set_request(Request request) {
    const auto set = run_alone(
        "UPDATE job SET request = $2 WHERE id = $1 AND (request != 2 OR $2 = 2 "
        "OR NOT EXISTS(SELECT 1 FROM run WHERE run.job = $1 AND run.state = 0))",
        {job_, number(request)});
    if (!set) return set.error();
    return *set > 0;
}

}  // namespace lambda::client::replicate
