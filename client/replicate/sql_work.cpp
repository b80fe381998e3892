// The work of a run: leads, plans, leases, and what became of them.
#include <algorithm>
#include <span>

#include "client/replicate/sql_store.h"
#include "client/replicate/sql_words.h"
#include "common/base/name_parts.h"

namespace lambda::client::replicate {
namespace {

// Rows that a lease looks at, for each that it may take.
constexpr std::size_t kLooks = 4;

// Which of the tasks that may be had go together. `tasks` come in order.
class LeaseFilling {
  public:
    explicit LeaseFilling(const LeaseRequest& request) : request_(request) {}
    void offer(Task task) {
        if (full_ || tasks_.size() >= request_.most_files) return;
        if (is_part(task.piece)) {  // it goes alone
            full_ = tasks_.empty();
            if (full_) tasks_.push_back(std::move(task));
            return;
        }
        const bool together = request_.one_directory || task.piece == Piece::attributes;
        if (!tasks_.empty() &&
            (task.piece != tasks_.front().piece ||
             (together && holder_of(task.name) != holder_of(tasks_.front().name))))
            return;
        // What was leased already is looked at, not moved: size is nothing there.
        const bool moves = request_.from != TaskState::uncertain && task.piece == Piece::whole;
        const std::uint64_t bytes = moves ? task.standing.size : 0;
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

// ---- sites

Result<std::int64_t> SqlStore::begin_lease(const LeaseRequest& request, std::int64_t kind,
                                           std::int64_t task) {
    std::int64_t lease = 0;
    const auto made = database_->run(
        "INSERT INTO lease(run, site, kind, owner, ticket, began, lives, until, task) "
        "VALUES($1, $2, $3, $4, $5, now_ms(), $6, now_ms() + $6, $7) RETURNING id",
        {request.run, std::int64_t{request.site}, kind, request.owner, number(request.ticket),
         std::int64_t{request.lives.count()}, task},
        [&](const Row& row) { lease = row.integer(0); });
    if (!made) return made.error();
    return lease;
}

Result<void> SqlStore::end_lease(std::int64_t lease) {
    const auto ended = database_->run(
        "UPDATE lease SET ended = now_ms(), "
        "files = (SELECT count(*) FROM task WHERE lease = $1 AND state = 3 AND piece != 1), "
        "bytes = (SELECT " +
            std::string(kBytes) + " FROM task WHERE lease = $1 AND state = 3) WHERE id = $1",
        {lease});
    return ended ? Result<void>() : ended.error();
}

Result<std::int64_t> SqlStore::lead(const LeaseRequest& request) {
    return keep<std::int64_t>([&](bool) -> Result<std::int64_t> {
        const Values site{request.run, std::int64_t{request.site}};
        const auto wanted =
            database_->run(std::string("SELECT 1 FROM site WHERE run = $1 AND number = $2 "
                                       "AND state IN (0, 2)") +
                               database_->dialect().for_update,
                           site);
        if (!wanted) return wanted.error();
        if (*wanted == 0) return 0;
        std::int64_t held = 0;
        bool ours = false;
        const auto read = database_->run(
            "SELECT id, owner FROM lease WHERE run = $1 AND site = $2 AND kind = $3 AND ended = 0",
            {request.run, std::int64_t{request.site}, kToLead}, [&](const Row& row) {
                held = row.integer(0);
                ours = row.text(1) == request.owner;
            });
        if (!read) return read.error();
        if (held != 0) return ours ? held : 0;
        return begin_lease(request, kToLead, 0);
    });
}

// Nothing: the lead has ended. Else it cannot end before the transaction does.
Result<std::optional<SqlStore::Led>> SqlStore::still_led(std::int64_t lease) {
    std::optional<Led> led;
    const auto read =
        database_->run(std::string("SELECT run, site FROM lease WHERE id = $1 AND ended = 0") +
                           database_->dialect().for_update,
                       {lease}, [&](const Row& row) {
                           led = {row.integer(0), row.integer(1)};
                       });
    if (!read) return read.error();
    return led;
}

// After a commit in doubt: whether it was the owner who ended the lease.
Result<bool> SqlStore::came_through(std::int64_t lease) {
    const auto read =
        database_->run("SELECT 1 FROM lease WHERE id = $1 AND ended != 0 AND lost = 0", {lease});
    if (!read) return read.error();
    return *read > 0;
}

// ---- plans

struct SqlStore::PlannedRow {
    const PlannedTask* task;
    Piece piece = Piece::whole;
    std::int64_t part = 0;  // the same for all pieces of a file
    Range bytes{};
};

std::vector<SqlStore::PlannedRow> SqlStore::rows_of(const Planned& planned) {
    std::vector<PlannedRow> rows;
    rows.reserve(planned.tasks.size());
    std::int64_t part = 0;
    for (const PlannedTask& task : planned.tasks) {
        if (task.ranges.empty() || !task.refused.empty()) {
            rows.push_back(
                {.task = &task, .piece = task.attributes ? Piece::attributes : Piece::whole});
            continue;
        }
        ++part;
        for (const Range range : task.ranges)
            rows.push_back({.task = &task, .piece = Piece::range, .part = part, .bytes = range});
        rows.push_back({.task = &task, .piece = Piece::finish, .part = part});
    }
    return rows;
}

struct SqlStore::PlannedPart {
    std::span<const PlannedRow> rows;
    std::size_t before = 0;  // rows of the parts before it
    bool last = false;
    Tally same{};
};

Result<bool> SqlStore::plan(std::int64_t lead, const Planned& planned, const Between& between) {
    const std::vector<PlannedRow> rows = rows_of(planned);
    const auto cleared = clear_plan(lead, between);
    if (!cleared || !*cleared) return cleared;
    for (std::size_t at = 0;;) {
        const std::size_t count = std::min(kPlannedAtOnce, rows.size() - at);
        const PlannedPart part{.rows = std::span(rows).subspan(at, count),
                               .before = at,
                               .last = at + count == rows.size(),
                               .same = planned.same};
        const auto kept = keep<bool>([&](bool again) { return plan_part(lead, part, again); });
        if (!kept || !*kept || part.last) return kept;
        at += count;
        if (!between) continue;
        if (auto gone = between(); !gone) return gone.error();
    }
}

// Of a site that is listed anew. False: the lead was lost.
Result<bool> SqlStore::clear_plan(std::int64_t lead, const Between& between) {
    while (true) {
        bool led = true;
        const auto gone = keep<std::size_t>([&](bool) -> Result<std::size_t> {
            const auto still = still_led(lead);
            if (!still) return still.error();
            led = still->has_value();
            if (!led) return 0;
            return delete_some("task", "run = $1 AND site = $2 ORDER BY state, kind, id", "",
                               {(*still)->run, (*still)->site});
        });
        if (!gone) return gone.error();
        if (!led || *gone == 0) return led;
        if (!between) continue;
        if (auto beaten = between(); !beaten) return beaten.error();
    }
}

// The site stays unlisted until the last part: whoever lists it then begins with the first.
Result<bool> SqlStore::plan_part(std::int64_t lead, const PlannedPart& part, bool again) {
    const auto led = still_led(lead);
    if (!led) return led.error();
    if (!*led) return again ? came_through(lead) : Result<bool>(false);
    const auto [run, site] = **led;
    if (again) {
        const auto there = planned_rows(**led);
        if (!there) return there.error();
        if (*there > part.before) return true;
    }
    const auto inserted = database_->run_many(
        "INSERT INTO task(run, site, state, kind, root, name, size, mtime, mode, reason, "
        "fault, side, piece, part, first, last) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
        "$11, $12, $13, $14, $15, $16)",
        part.rows.size(), [&, run = run, site = site](std::size_t i, Values& values) {
            const PlannedRow& row = part.rows[i];
            const PlannedTask& task = *row.task;
            const TaskState state = task.refused.empty() ? TaskState::waiting : TaskState::failed;
            values = {run,
                      site,
                      number(state),
                      number(task.standing.kind),
                      std::int64_t{task.root},
                      task.name,
                      number(task.standing.size),
                      task.standing.mtime_ns,
                      std::int64_t{task.standing.mode},
                      task.refused,
                      number(Fault::file),
                      number(task.side),
                      number(row.piece),
                      row.part,
                      number(row.bytes.first),
                      number(row.bytes.last)};
        });
    if (!inserted) return inserted.error();
    if (!part.last) return true;
    const auto listed = database_->run(
        "UPDATE site SET state = 1, trouble = $5, same_files = $3, same_bytes = $4, lease = $6 "
        "WHERE run = $1 AND number = $2",
        {run, site, number(part.same.files), number(part.same.bytes), "", lead});
    if (!listed) return listed.error();
    if (auto ended = end_lease(lead); !ended) return ended.error();
    return true;
}

Result<std::size_t> SqlStore::planned_rows(const Led& led) {
    std::size_t rows = 0;
    const auto read = database_->run(
        "SELECT count(*) FROM task WHERE run = $1 AND site = $2", {led.run, led.site},
        [&](const Row& row) { rows = static_cast<std::size_t>(unsigned_of(row.integer(0))); });
    if (!read) return read;
    return rows;
}

Result<bool> SqlStore::tidied(std::int64_t lead, const std::vector<Settled>& settled) {
    return keep<bool>([&](bool again) -> Result<bool> {
        const auto led = still_led(lead);
        if (!led) return led.error();
        if (!*led) return again ? came_through(lead) : Result<bool>(false);
        if (auto set = set_tasks(settled, 0); !set) return set.error();
        const auto done =
            database_->run("UPDATE site SET state = 3, trouble = $3 WHERE run = $1 AND number = $2",
                           {(*led)->run, (*led)->site, ""});
        if (!done) return done.error();
        if (auto ended = end_lease(lead); !ended) return ended.error();
        return true;
    });
}

Result<bool> SqlStore::moved_all(std::int64_t run, std::uint32_t site) {
    const auto done = run_alone(
        "UPDATE site SET trouble = $3, state = CASE WHEN EXISTS(SELECT 1 FROM task "
        "WHERE run = $1 AND site = $2 AND ((kind != 0 AND state = 0) OR (kind = 0 AND state = 3))) "
        "THEN 2 ELSE 3 END WHERE run = $1 AND number = $2 AND state = 1 AND NOT EXISTS("
        "SELECT 1 FROM task WHERE run = $1 AND site = $2 AND kind = 0 AND state IN (0, 1, 2))",
        {run, std::int64_t{site}, ""});
    if (!done) return done.error();
    return *done > 0;
}

// ---- files

Result<Lease> SqlStore::repeated(const LeaseRequest& request) {
    Lease lease;
    const auto read =
        database_->run("SELECT id FROM lease WHERE owner = $1 AND ticket = $2 AND ended = 0",
                       {request.owner, number(request.ticket)},
                       [&](const Row& row) { lease.number = row.integer(0); });
    if (!read) return read.error();
    if (lease.number == 0) return lease;
    auto had = read_tasks(
        std::string("SELECT ") + kTask + " FROM task WHERE lease = $1 AND state = 1 ORDER BY id",
        {lease.number});
    if (!had) return had.error();
    lease.tasks = *std::move(had);
    return lease;
}

Result<Lease> SqlStore::lease(const LeaseRequest& request) {
    return keep<Lease>([&](bool again) -> Result<Lease> {
        if (again) {
            auto before = repeated(request);
            if (!before || before->number != 0) return before;
        }
        LeaseFilling load(request);
        const auto read = database_->run(
            std::string("SELECT ") + kTask +
                " FROM task WHERE run = $1 AND site = $2 AND state = $3 AND kind = 0 "
                "AND (not_before <= now_ms() OR not_before > now_ms() + $5) AND (piece != 2 OR NOT "
                "EXISTS("
                "SELECT 1 FROM task AS open WHERE open.run = $1 AND open.site = $2 "
                "AND open.part = task.part AND open.piece = 1 AND open.state != 3)) "
                "ORDER BY id LIMIT $4" +
                database_->dialect().skip_locked,
            {request.run, std::int64_t{request.site}, number(request.from),
             number(kLooks * request.most_files), std::int64_t{longest_pause_.count()}},
            [&](const Row& row) { load.offer(task_of(row)); });
        if (!read) return read.error();
        Lease lease{.number = 0, .tasks = load.take()};
        if (lease.tasks.empty()) return lease;
        const auto begun =
            begin_lease(request, request.from == TaskState::waiting ? kToCarry : kToCheck,
                        lease.tasks.front().id);
        if (!begun) return begun.error();
        lease.number = *begun;
        const auto taken =
            database_->run_many("UPDATE task SET state = 1, lease = $1 WHERE id = $2",
                                lease.tasks.size(), [&](std::size_t i, Values& values) {
                                    values = {lease.number, lease.tasks[i].id};
                                });
        if (!taken) return taken.error();
        return lease;
    });
}

// Those that this lease still holds; 0: that nobody holds. What waits for nothing is to be had
// whatever the clock says later: it may be ahead now.
Result<void> SqlStore::set_tasks(const std::vector<Settled>& settled, std::int64_t lease) {
    auto set = database_->run_many(
        "UPDATE task SET state = CASE WHEN $1 = 2 AND piece != 0 THEN 0 ELSE $1 END, moved = CASE "
        "WHEN moved > $2 THEN moved ELSE $2 END, "
        "attempts = $3, not_before = (now_ms() + $4) * CASE WHEN $4 = 0 THEN 0 ELSE 1 END, "
        "fault = $5, side = $6, reason = $7 "
        "WHERE id = $8 AND ((state = 1 AND lease = $9) OR (state = 0 AND $9 = 0))",
        settled.size(), [&](std::size_t i, Values& values) {
            const Settled& each = settled[i];
            values = {number(each.state),
                      std::int64_t{each.moved ? 1 : 0},
                      std::int64_t{each.attempts},
                      std::int64_t{each.pause.count()},
                      number(each.fault),
                      number(each.side),
                      each.reason,
                      each.id,
                      lease};
        });
    return set ? fail_files(settled) : set;
}

// What belongs to a range that failed, or to a file whose finish did, is not tried either.
Result<void> SqlStore::fail_files(const std::vector<Settled>& settled) {
    for (const Settled& each : settled) {
        if (each.state != TaskState::failed) continue;
        const auto failed = database_->run(
            "UPDATE task SET state = 4, fault = $2, side = $3, reason = $4, attempts = $5 "
            "WHERE state = 0 AND part != 0 AND id != $1 "
            "AND (run, site, part) IN (SELECT run, site, part FROM task WHERE id = $1)",
            {each.id, number(each.fault), number(each.side), each.reason,
             std::int64_t{each.attempts}});
        if (!failed) return failed.error();
    }
    return {};
}

Result<bool> SqlStore::settle(std::int64_t lease, const std::vector<Settled>& settled) {
    return keep<bool>([&](bool again) -> Result<bool> {
        const auto led = still_led(lease);
        if (!led) return led.error();
        if (!*led) return again ? came_through(lease) : Result<bool>(false);
        if (auto set = set_tasks(settled, lease); !set) return set.error();
        if (auto ended = end_lease(lease); !ended) return ended.error();
        return true;
    });
}

Result<std::size_t> SqlStore::take_over(std::int64_t run, const std::string& owner) {
    return keep<std::size_t>([&](bool) {
        return take("run = $1 AND owner != $2" + (shared() ? " AND " + gone("lives") : ""),
                    {run, owner}, true);
    });
}

Result<void> SqlStore::drop(std::int64_t lease) {
    const auto dropped = keep<std::size_t>([&](bool) { return take("id = $1", {lease}, false); });
    return dropped ? Result<void>() : dropped.error();
}

Result<void> SqlStore::leave(const std::string& owner) {
    const auto left = keep<std::size_t>([&](bool) -> Result<std::size_t> {
        const auto gone =
            database_->run("DELETE FROM mover WHERE job = $1 AND owner = $2", {job_, owner});
        if (!gone) return gone;
        return take("owner = $1", {owner}, false);
    });
    return left ? Result<void>() : left.error();
}

// Ends these leases; what they held becomes uncertain.
Result<std::size_t> SqlStore::take(const std::string& which, const Values& values, bool lost) {
    std::vector<std::int64_t> leases;
    const auto read =
        database_->run("SELECT id FROM lease WHERE ended = 0 AND " + which + " ORDER BY id" +
                           database_->dialect().skip_locked,
                       values, [&](const Row& row) { leases.push_back(row.integer(0)); });
    if (!read) return read;
    auto taken = database_->run_many(
        "UPDATE task SET state = CASE piece WHEN 0 THEN 2 ELSE 0 END "
        "WHERE lease = $1 AND state = 1",
        leases.size(), [&](std::size_t i, Values& each) { each = {leases[i]}; });
    if (!taken) return taken.error();
    taken = database_->run_many("UPDATE lease SET ended = now_ms(), lost = $2 WHERE id = $1",
                                leases.size(), [&](std::size_t i, Values& each) {
                                    each = {leases[i], std::int64_t{lost ? 1 : 0}};
                                });
    if (!taken) return taken.error();
    return leases.size();
}

// ---- what is left

Result<std::vector<Task>> SqlStore::tasks(std::string_view sql, const Values& values) {
    return persist<std::vector<Task>>([&](bool) { return read_tasks(sql, values); });
}

Result<std::vector<Task>> SqlStore::read_tasks(std::string_view sql, const Values& values) {
    std::vector<Task> tasks;
    const auto read =
        database_->run(sql, values, [&](const Row& row) { tasks.push_back(task_of(row)); });
    if (!read) return read.error();
    return tasks;
}

Result<Store::Waiting> SqlStore::waiting(std::int64_t run, std::uint32_t site) {
    Waiting waiting;
    const auto read = run_alone(
        "SELECT count(*), coalesce(min(CASE WHEN state = 1 THEN NULL "
        "WHEN not_before > now_ms() + $3 THEN 0 ELSE not_before END), 0) "
        "- now_ms(), coalesce((SELECT reason FROM task WHERE run = $1 AND site = $2 AND state = 0 "
        "AND kind = 0 AND attempts > 0 ORDER BY id LIMIT 1), '') "
        "FROM task WHERE run = $1 AND site = $2 AND state IN (0, 1, 2) AND kind = 0",
        {run, std::int64_t{site}, std::int64_t{longest_pause_.count()}}, [&](const Row& row) {
            waiting = {.files = unsigned_of(row.integer(0)),
                       .next = Milliseconds(std::max<std::int64_t>(0, row.integer(1))),
                       .reason = row.text(2)};
        });
    if (!read) return read.error();
    return waiting;
}

Result<std::vector<Task>> SqlStore::untidied(std::int64_t run, std::uint32_t site) {
    return tasks(std::string("SELECT ") + kTask +
                     " FROM task WHERE run = $1 AND site = $2 AND state = 0 AND kind != 0 "
                     "ORDER BY id",
                 {run, std::int64_t{site}});
}

Result<std::vector<Failure>> SqlStore::failures(std::int64_t run, std::size_t most) {
    return persist<std::vector<Failure>>([&](bool) -> Result<std::vector<Failure>> {
        std::vector<Failure> failures;
        const auto read = database_->run(
            "SELECT site, name, fault, side, reason, attempts FROM task "
            "WHERE run = $1 AND state = 4 AND piece != 1 "
            "ORDER BY CASE WHEN fault = $3 THEN 0 ELSE 1 END, id LIMIT $2",
            {run, number(most), static_cast<std::int64_t>(Fault::integrity)}, [&](const Row& row) {
                failures.push_back({.site = static_cast<std::uint32_t>(row.integer(0)),
                                    .name = row.text(1),
                                    .error = {.fault = static_cast<Fault>(row.integer(2)),
                                              .message = row.text(4),
                                              .path = row.text(1),
                                              .side = static_cast<Side>(row.integer(3)),
                                              .remedy = {}},
                                    .attempts = static_cast<std::uint32_t>(row.integer(5))});
            });
        if (!read) return read.error();
        return failures;
    });
}

Result<std::vector<Task>> SqlStore::left_over(std::int64_t run) {
    return tasks(
        "SELECT min(id), root, min(kind), name, min(size), min(mtime), min(mode), min(attempts), "
        "0, 0, 0 FROM task WHERE run = $1 AND state != 3 AND piece != 1 GROUP BY root, name "
        "ORDER BY min(id)",
        {run});
}

}  // namespace lambda::client::replicate
