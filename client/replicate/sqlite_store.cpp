#include "client/replicate/sqlite_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "client/home.h"

namespace lambda::client::replicate {
namespace {

constexpr std::int64_t kVersion = 1;
// Of which history tells.
constexpr std::int64_t kMostRuns = 1000;
// Rows that a lease looks at, for each that it may take.
constexpr std::int64_t kLooks = 4;

constexpr const char* kTables = R"(
CREATE TABLE run(id INTEGER PRIMARY KEY, shape, state INTEGER, started INTEGER, ended INTEGER,
                 files INTEGER DEFAULT 0, bytes INTEGER DEFAULT 0, failed INTEGER DEFAULT 0);
CREATE TABLE site(run INTEGER, number INTEGER, place, state INTEGER DEFAULT 0, trouble DEFAULT '',
                  same_files INTEGER DEFAULT 0, same_bytes INTEGER DEFAULT 0,
                  PRIMARY KEY(run, number));
CREATE TABLE task(id INTEGER PRIMARY KEY, run INTEGER, site INTEGER, state INTEGER, kind INTEGER,
                  root INTEGER, name, size INTEGER, mtime INTEGER, mode INTEGER,
                  attempts INTEGER DEFAULT 0, not_before INTEGER DEFAULT 0, owner DEFAULT '',
                  until INTEGER DEFAULT 0, moved INTEGER DEFAULT 0, fault INTEGER DEFAULT 0,
                  side INTEGER DEFAULT 0, reason DEFAULT '');
CREATE INDEX task_of_site ON task(run, site, state, kind, id);
CREATE TABLE mover(owner PRIMARY KEY, heartbeat INTEGER, until INTEGER, doing);
CREATE TABLE control(id INTEGER PRIMARY KEY CHECK(id = 1), request INTEGER);
INSERT INTO control VALUES(1, 0);
PRAGMA user_version = 1;
)";

std::int64_t number(WallTime time) {
    return time.time_since_epoch().count();
}
WallTime wall(std::int64_t number) {
    return WallTime(std::chrono::milliseconds(number));
}
template <typename T>
    requires std::is_enum_v<T>
std::int64_t number(T value) {
    return static_cast<std::int64_t>(value);
}
std::int64_t signed_of(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}
std::uint64_t unsigned_of(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

Run run_of(const Statement& row) {
    return {.id = row.integer(0),
            .shape = row.text(1),
            .state = static_cast<RunState>(row.integer(2)),
            .started = wall(row.integer(3)),
            .ended = wall(row.integer(4)),
            .moved = {unsigned_of(row.integer(5)), unsigned_of(row.integer(6))},
            .failed = unsigned_of(row.integer(7))};
}
constexpr const char* kRuns =
    "SELECT id, shape, state, started, ended, files, bytes, failed FROM run "
    "ORDER BY id DESC LIMIT ?";

// Columns: id, root, kind, name, size, mtime, mode, attempts.
Task task_of(const Statement& row) {
    return {.id = row.integer(0),
            .root = static_cast<std::uint32_t>(row.integer(1)),
            .name = row.text(3),
            .standing = {.kind = static_cast<Kind>(row.integer(2)),
                         .size = unsigned_of(row.integer(4)),
                         .mtime_ns = row.integer(5),
                         .mode = static_cast<std::uint32_t>(row.integer(6))},
            .attempts = static_cast<std::uint32_t>(row.integer(7))};
}

std::string_view directory_of(const std::string& name) {
    return std::string_view(name).substr(0, name.rfind('/') == name.npos ? 0 : name.rfind('/'));
}

struct flock exclusive() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

// Which of the tasks that may be had go together. `tasks` come in order.
class Load {
  public:
    explicit Load(const LeaseRequest& request) : request_(request) {}
    bool full() const { return full_ || tasks_.size() >= request_.most_files; }
    void offer(Task task) {
        if (request_.one_directory && !tasks_.empty() &&
            directory_of(task.name) != directory_of(tasks_.front().name))
            return;
        // What was leased already is looked at, not moved: size is nothing there.
        const std::uint64_t bytes = request_.from == TaskState::uncertain ? 0 : task.standing.size;
        if (bytes >= request_.most_bytes) {
            full_ = tasks_.empty();
            if (!full_) return;
        } else if (bytes_ + bytes > request_.most_bytes) {
            full_ = true;
            return;
        }
        bytes_ += bytes;
        tasks_.push_back(std::move(task));
    }
    std::vector<Task> take() { return std::move(tasks_); }

  private:
    const LeaseRequest& request_;
    std::vector<Task> tasks_;
    std::uint64_t bytes_ = 0;
    bool full_ = false;
};

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& file) {
    if (const std::size_t slash = file.rfind('/'); slash != file.npos && slash > 0) {
        if (auto made = make_directories(file.substr(0, slash)); !made) return made.error();
    }
    auto database = Database::open(file);
    if (!database) return database.error();
    std::unique_ptr<SqliteStore> store(new SqliteStore(*std::move(database)));
    if (auto made = store->make_tables(); !made) return made.error();
    return store;
}

Result<void> SqliteStore::make_tables() {
    auto transaction = Transaction::begin(*database_);
    if (!transaction) return transaction.error();
    Statement version = database_->prepare("PRAGMA user_version");
    auto row = version.step();
    if (!row) return row.error();
    const std::int64_t found = version.integer(0);
    row = version.step();
    if (!row) return row.error();
    if (found == kVersion) return transaction->commit();
    if (found != 0) {
        return Error{.fault = Fault::file,
                     .message = "is the state of another version (" + std::to_string(found) + ")",
                     .path = database_->file(),
                     .side = Side::local,
                     .remedy = "name another file as `state`"};
    }
    if (auto made = database_->execute(kTables); !made) return made;
    return transaction->commit();
}

Result<bool> SqliteStore::conduct() {
    const std::string file = database_->file() + ".lock";
    io::Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock) return errno_error(Fault::file, "cannot open", file, errno);
    struct flock whole = exclusive();
    if (::fcntl(lock.get(), F_OFD_SETLK, &whole) == 0) {
        conducting_ = std::move(lock);
        return true;
    }
    if (errno == EAGAIN || errno == EACCES) return false;
    return errno_error(Fault::file, "cannot lock", file, errno);
}

Result<std::vector<Run>> SqliteStore::runs(std::size_t most) {
    Statement rows = database_->prepare(kRuns);
    rows.bind(signed_of(most));
    std::vector<Run> runs;
    for (auto row = rows.step();; row = rows.step()) {
        if (!row) return row.error();
        if (!*row) return runs;
        runs.push_back(run_of(rows));
    }
}

Result<std::optional<Run>> SqliteStore::last_run() {
    auto last = runs(1);
    if (!last) return last.error();
    if (last->empty()) return std::optional<Run>();
    return std::optional(last->front());
}

Result<Run> SqliteStore::begin_run(const std::string& shape, const std::vector<std::string>& sites,
                                   WallTime now) {
    auto transaction = Transaction::begin(*database_);
    if (!transaction) return transaction.error();
    for (const char* forget : {"DELETE FROM task", "DELETE FROM site",
                               "UPDATE control SET request = 0 WHERE request = 2"}) {
        if (auto done = database_->execute(forget); !done) return done.error();
    }
    auto made =
        database_->prepare("INSERT INTO run(shape, state, started, ended) VALUES(?, 0, ?, 0)")
            .bind(shape, number(now))
            .run();
    if (!made) return made.error();
    const Run run{.id = database_->last_id(), .shape = shape, .started = now};
    for (std::size_t i = 0; i < sites.size(); ++i) {
        made = database_->prepare("INSERT INTO site(run, number, place) VALUES(?, ?, ?)")
                   .bind(run.id, signed_of(i), sites[i])
                   .run();
        if (!made) return made.error();
    }
    made = database_->prepare("DELETE FROM run WHERE id <= ?").bind(run.id - kMostRuns).run();
    if (!made) return made.error();
    if (made = transaction->commit(); !made) return made.error();
    return run;
}

Result<void> SqliteStore::end_run(std::int64_t run, RunState state, WallTime now) {
    return database_
        ->prepare(
            "UPDATE run SET state = ?2, ended = ?3, "
            "files = (SELECT count(*) FROM task WHERE run = ?1 AND moved = 1 AND kind = 0), "
            "bytes = (SELECT coalesce(sum(size), 0) FROM task WHERE run = ?1 AND moved = 1 AND "
            "kind = 0), "
            "failed = (SELECT count(*) FROM task WHERE run = ?1 AND state != 3) "
            "WHERE id = ?1")
        .bind(run, number(state), number(now))
        .run();
}

Result<std::vector<SiteStatus>> SqliteStore::sites(std::int64_t run) {
    std::vector<SiteStatus> sites;
    Statement rows = database_->prepare(
        "SELECT state, place, trouble, same_files, same_bytes FROM site WHERE run = ? ORDER BY "
        "number");
    rows.bind(run);
    for (auto row = rows.step();; row = rows.step()) {
        if (!row) return row.error();
        if (!*row) break;
        sites.push_back({.state = static_cast<SiteState>(rows.integer(0)),
                         .place = rows.text(1),
                         .trouble = rows.text(2),
                         .same = {unsigned_of(rows.integer(3)), unsigned_of(rows.integer(4))}});
    }
    Statement sums = database_->prepare(
        "SELECT site, state, kind, count(*), sum(size) FROM task WHERE run = ? GROUP BY site, "
        "state, "
        "kind");
    sums.bind(run);
    for (auto row = sums.step();; row = sums.step()) {
        if (!row) return row.error();
        if (!*row) return sites;
        const auto site = unsigned_of(sums.integer(0));
        if (site >= sites.size()) continue;
        SiteStatus& status = sites[site];
        const auto state = static_cast<TaskState>(sums.integer(1));
        const Tally tally{unsigned_of(sums.integer(3)), unsigned_of(sums.integer(4))};
        if (state == TaskState::failed) {
            status.failed += tally.files;
        } else if (static_cast<Kind>(sums.integer(2)) == Kind::file) {
            Tally& into = state == TaskState::done ? status.moved : status.waiting;
            into.files += tally.files;
            into.bytes += tally.bytes;
        }
    }
}

Result<void> SqliteStore::plan(std::int64_t run, std::uint32_t site, const Planned& planned) {
    auto transaction = Transaction::begin(*database_);
    if (!transaction) return transaction.error();
    const std::int64_t at = site;
    auto done =
        database_->prepare("DELETE FROM task WHERE run = ? AND site = ?").bind(run, at).run();
    if (!done) return done;
    Statement insert = database_->prepare(
        "INSERT INTO task(run, site, state, kind, root, name, size, mtime, mode, reason, fault, "
        "side) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const PlannedTask& task : planned.tasks) {
        const TaskState state = task.refused.empty() ? TaskState::waiting : TaskState::failed;
        done = insert
                   .bind(run, at, number(state), number(task.standing.kind),
                         std::int64_t{task.root}, task.name, signed_of(task.standing.size),
                         task.standing.mtime_ns, std::int64_t{task.standing.mode}, task.refused,
                         number(Fault::file), number(task.side))
                   .run();
        if (!done) return done;
    }
    done = database_
               ->prepare(
                   "UPDATE site SET state = 1, trouble = '', same_files = ?, same_bytes = ? "
                   "WHERE run = ? AND number = ?")
               .bind(signed_of(planned.same.files), signed_of(planned.same.bytes), run, at)
               .run();
    if (!done) return done;
    return transaction->commit();
}

Result<void> SqliteStore::set_site(std::int64_t run, std::uint32_t site, SiteState state,
                                   const std::string& trouble) {
    return database_->prepare("UPDATE site SET state = ?, trouble = ? WHERE run = ? AND number = ?")
        .bind(number(state), trouble, run, std::int64_t{site})
        .run();
}

Result<std::vector<Task>> SqliteStore::lease(const LeaseRequest& request) {
    auto transaction = Transaction::begin(*database_);
    if (!transaction) return transaction.error();
    Statement rows = database_->prepare(
        "SELECT id, root, kind, name, size, mtime, mode, attempts FROM task "
        "WHERE run = ? AND site = ? AND state = ? AND kind = 0 AND not_before <= ? "
        "ORDER BY id LIMIT ?");
    rows.bind(request.run, std::int64_t{request.site}, number(request.from), number(request.now),
              kLooks * signed_of(request.most_files));
    Load load(request);
    while (!load.full()) {
        const auto row = rows.step();
        if (!row) return row.error();
        if (!*row) break;
        load.offer(task_of(rows));
    }
    rows = Statement();
    std::vector<Task> tasks = load.take();
    Statement take =
        database_->prepare("UPDATE task SET state = 1, owner = ?, until = ? WHERE id = ?");
    for (const Task& task : tasks) {
        auto taken = take.bind(request.owner, number(request.until), task.id).run();
        if (!taken) return taken.error();
    }
    if (auto committed = transaction->commit(); !committed) return committed.error();
    return tasks;
}

Result<void> SqliteStore::settle(const std::vector<Settled>& settled) {
    auto transaction = Transaction::begin(*database_);
    if (!transaction) return transaction.error();
    Statement update = database_->prepare(
        "UPDATE task SET state = ?, moved = max(moved, ?), attempts = ?, not_before = ?, fault = "
        "?, "
        "side = ?, reason = ?, owner = '' WHERE id = ?");
    for (const Settled& each : settled) {
        auto done = update
                        .bind(number(each.state), std::int64_t{each.moved ? 1 : 0},
                              std::int64_t{each.attempts}, number(each.not_before),
                              number(each.fault), number(each.side), each.reason, each.id)
                        .run();
        if (!done) return done;
    }
    return transaction->commit();
}

Result<Store::Waiting> SqliteStore::waiting(std::int64_t run, std::uint32_t site) {
    Statement row = database_->prepare(
        "SELECT count(*), coalesce(min(not_before), 0) FROM task "
        "WHERE run = ? AND site = ? AND state IN (0, 2) AND kind = 0");
    row.bind(run, std::int64_t{site});
    if (const auto there = row.step(); !there) return there.error();
    return Waiting{.files = unsigned_of(row.integer(0)), .next = wall(row.integer(1))};
}

Result<std::vector<Task>> SqliteStore::untidied(std::int64_t run, std::uint32_t site) {
    Statement rows = database_->prepare(
        "SELECT id, root, kind, name, size, mtime, mode, attempts FROM task "
        "WHERE run = ? AND site = ? AND state = 0 AND kind != 0 ORDER BY id");
    rows.bind(run, std::int64_t{site});
    std::vector<Task> tasks;
    for (auto row = rows.step();; row = rows.step()) {
        if (!row) return row.error();
        if (!*row) return tasks;
        tasks.push_back(task_of(rows));
    }
}

Result<std::vector<Failure>> SqliteStore::failures(std::int64_t run, std::size_t most) {
    Statement rows = database_->prepare(
        "SELECT site, name, fault, side, reason, attempts FROM task WHERE run = ? AND state = 4 "
        "ORDER BY id LIMIT ?");
    rows.bind(run, signed_of(most));
    std::vector<Failure> failures;
    for (auto row = rows.step();; row = rows.step()) {
        if (!row) return row.error();
        if (!*row) return failures;
        failures.push_back({.site = static_cast<std::uint32_t>(rows.integer(0)),
                            .name = rows.text(1),
                            .error = {.fault = static_cast<Fault>(rows.integer(2)),
                                      .message = rows.text(4),
                                      .path = rows.text(1),
                                      .side = static_cast<Side>(rows.integer(3)),
                                      .remedy = {}},
                            .attempts = static_cast<std::uint32_t>(rows.integer(5))});
    }
}

Result<std::vector<Task>> SqliteStore::left_over(std::int64_t run) {
    Statement rows = database_->prepare(
        "SELECT min(id), root, kind, name, size, mtime, mode, attempts FROM task "
        "WHERE run = ? AND state != 3 GROUP BY root, name ORDER BY min(id)");
    rows.bind(run);
    std::vector<Task> tasks;
    for (auto row = rows.step();; row = rows.step()) {
        if (!row) return row.error();
        if (!*row) return tasks;
        tasks.push_back(task_of(rows));
    }
}

Result<void> SqliteStore::beat(const Mover& mover, WallTime until) {
    auto transaction = Transaction::begin(*database_);
    if (!transaction) return transaction.error();
    // Who conducts is alone.
    auto done = database_->prepare("DELETE FROM mover WHERE owner != ?").bind(mover.owner).run();
    if (!done) return done;
    done = database_->prepare("INSERT OR REPLACE INTO mover VALUES(?, ?, ?, ?)")
               .bind(mover.owner, number(mover.heartbeat), number(until), mover.doing)
               .run();
    if (!done) return done;
    return transaction->commit();
}

bool SqliteStore::somebody_conducts() const {
    const io::Descriptor lock(::open((database_->file() + ".lock").c_str(), O_RDWR | O_CLOEXEC));
    struct flock whole = exclusive();
    return lock && ::fcntl(lock.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

Result<std::optional<Mover>> SqliteStore::mover() {
    if (!somebody_conducts()) return std::optional<Mover>();
    Statement row = database_->prepare("SELECT owner, heartbeat, doing FROM mover");
    const auto there = row.step();
    if (!there) return there.error();
    if (!*there) return std::optional<Mover>();
    return std::optional(
        Mover{.owner = row.text(0), .heartbeat = wall(row.integer(1)), .doing = row.text(2)});
}

Result<void> SqliteStore::take_over(std::int64_t run, const std::string& owner, WallTime) {
    LAMBDA_ASSERT(conducting_);
    return database_
        ->prepare(
            "UPDATE task SET state = 2, owner = '' WHERE run = ? AND state = 1 AND owner != ?")
        .bind(run, owner)
        .run();
}

Result<Request> SqliteStore::request() {
    Statement row = database_->prepare("SELECT request FROM control");
    const auto there = row.step();
    if (!there) return there.error();
    return static_cast<Request>(row.integer(0));
}

Result<void> SqliteStore::set_request(Request request) {
    return database_->prepare("UPDATE control SET request = ?").bind(number(request)).run();
}

}  // namespace lambda::client::replicate
