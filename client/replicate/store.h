// The state of a job, durable at every step: its runs, what each destination still needs, who is at
// work on it, and what users ask of it from elsewhere.
//
// Work is handed out by lease. A lease has a number that is greater than any before it, belongs to
// one owner, and lives as long as he beats in time; what he says of its work counts only while it
// lives. What was leased by one who is gone is `uncertain`: it may be done already, and is looked
// at before it moves again. Time is the store's own. One thread for each Store; several processes
// may have the same state open, and where it is shared() several of them conduct.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/replicate/listing.h"
#include "common/base/interval_set.h"
#include "common/base/result.h"

namespace lambda::client::replicate {

// By the clock on the wall: it is compared across processes and reboots.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;
using Milliseconds = std::chrono::milliseconds;
constexpr WallTime kNoTime{};

enum class RunState : std::uint8_t { running = 0, done = 1, left_over = 2, cancelled = 3 };
enum class SiteState : std::uint8_t {
    unlisted = 0,  // nobody knows yet what it needs
    moving = 1,    // files
    tidying = 2,   // directories and links
    done = 3,
    given_up = 4,
};
enum class TaskState : std::uint8_t {
    waiting = 0,
    leased = 1,
    uncertain = 2,
    done = 3,
    failed = 4
};
enum class Request : std::uint8_t { none = 0, pause = 1, cancel = 2 };

struct Run {
    std::int64_t id = 0;
    std::string shape;  // Job::shape()
    RunState state = RunState::running;
    WallTime started{}, ended{};
    Tally moved{};
    std::uint64_t failed = 0;
    std::uint64_t given_up = 0;  // sites
};

// What of a file a task is. One that is cut into ranges is finished, once all of them are done. Of
// one whose attributes alone differ no byte moves; such are leased by directory.
enum class Piece : std::uint8_t { whole = 0, range = 1, finish = 2, attributes = 3 };
inline bool is_part(Piece piece) {
    return piece == Piece::range || piece == Piece::finish;
}

struct Task {
    std::int64_t id = 0;
    std::uint32_t root = 0;
    std::string name;  // Entry::name
    Standing standing;
    std::uint32_t attempts = 0;  // that failed
    Piece piece = Piece::whole;
    Range bytes{};  // of a range
};

struct PlannedTask {
    std::uint32_t root = 0;
    std::string name;
    Standing standing;
    std::string refused{};        // why it is not to be tried; else empty
    Side side = Side::remote;     // whose fault that is
    std::vector<Range> ranges{};  // that several may carry; none: it is moved whole
    bool attributes = false;      // they alone differ
};
struct Planned {
    std::vector<PlannedTask> tasks;
    Tally same;
};

struct Lease {
    std::int64_t number = 0;  // 0: none
    std::vector<Task> tasks;
};

// What became of a leased task.
struct Settled {
    std::int64_t id = 0;
    TaskState state = TaskState::done;  // done, failed, uncertain, or waiting
    bool moved = false;                 // in this run, not found done
    std::uint32_t attempts = 0;
    Milliseconds pause{0};  // before it may be leased again
    Fault fault = Fault::file;
    Side side = Side::remote;
    std::string reason{};
};

struct LeaseRequest {
    std::string owner;
    std::uint64_t ticket = 0;  // of this owner, another for each request
    std::int64_t run = 0;
    std::uint32_t site = 0;
    TaskState from = TaskState::waiting;  // or uncertain
    std::size_t most_files = 0;
    std::uint64_t most_bytes = 0;  // a file of as much or more goes alone
    bool one_directory = false;    // all of one directory
    Milliseconds lives{0};
};

struct SiteStatus {
    SiteState state = SiteState::unlisted;
    std::string place;
    std::string trouble{};  // the last error that concerned the whole site; empty: none
    Tally same{};           // found as they should be
    Tally moved{};          // done by moving in this run, and found done later
    Tally waiting{};        // leased and uncertain ones too
    std::uint64_t failed = 0;
};

struct Failure {
    std::uint32_t site = 0;
    std::string name;
    Error error;
    std::uint32_t attempts = 0;
};

// A process that conducts, and what it says of itself.
struct Mover {
    std::string owner;  // "host:pid:..."
    WallTime heartbeat{};
    std::string doing{};
};
// What it did in a run.
struct MoverTally {
    std::string owner;
    Tally moved{};
    std::uint64_t leases = 0;
    std::uint64_t lost = 0;  // leases that others took over
};

class Store {
  public:
    virtual ~Store() = default;

    // Errors of all: Fault::file with the state's place; Fault::session where it is out of reach.

    // Whether movers on several hosts may conduct at the same time.
    virtual bool shared() const = 0;
    // The numbers of leases grow within it: letters, digits and '-'.
    virtual const std::string& epoch() const = 0;
    // Called each few seconds while the state is out of reach; it does nothing with the store.
    using Meanwhile = std::function<void()>;
    virtual void while_waiting(Meanwhile meanwhile) = 0;
    // The right to conduct, for as long as this lives. False: another process has it.
    virtual Result<bool> conduct() = 0;
    // Whether a process has it, also one whose run has not begun yet; not told where it is shared.
    virtual bool conducted() const = 0;

    virtual Result<std::optional<Run>> last_run() = 0;
    virtual Result<std::optional<Run>> run(std::int64_t id) = 0;
    virtual Result<std::vector<Run>> runs(std::size_t most) = 0;  // the newest first

    // The run that is under way where it has this shape, else a new one. A cancel that was meant
    // for an earlier one is forgotten. Fault::usage: others are at work on another shape.
    struct Joined {
        Run run;
        bool joined = false;            // it was under way
        std::optional<Run> replaced{};  // it ended where it was, since the job changed
    };
    virtual Result<Joined> join(const std::string& shape, const std::vector<std::string>& sites,
                                const std::string& owner) = 0;
    // Some of the work of earlier runs; their totals stay. False: nothing is left to forget. One
    // step takes far less than a lease lives.
    virtual Result<bool> forget(std::int64_t run) = 0;
    // Whether it was this owner who ended it.
    virtual Result<bool> end_run(std::int64_t run, RunState state, const std::string& owner) = 0;

    // What a conductor looks at now and then.
    struct View {
        RunState run = RunState::running;
        Request request = Request::none;
        std::vector<SiteState> sites;
        std::vector<std::int64_t> listings;  // of each site, the lead by which it was listed; or 0
    };
    virtual Result<View> view(std::int64_t run) = 0;
    virtual Result<std::vector<SiteStatus>> sites(std::int64_t run) = 0;

    // The right to list or to tidy a site, which one owner has at a time: a lease's number; 0:
    // somebody else has it, or it needs neither.
    virtual Result<std::int64_t> lead(const LeaseRequest& request) = 0;
    // Both end the lead. False: it was lost, and nothing happened. A long plan is written in parts,
    // which count once all are there; `between` them its owner may beat.
    using Between = std::function<Result<void>()>;
    virtual Result<bool> plan(std::int64_t lead, const Planned& planned,
                              const Between& between) = 0;
    virtual Result<bool> tidied(std::int64_t lead, const std::vector<Settled>& settled) = 0;
    // Moving ends where no file of the site is left: tidying follows, or nothing. Returns whether
    // it did.
    virtual Result<bool> moved_all(std::int64_t run, std::uint32_t site) = 0;
    virtual Result<void> set_trouble(std::int64_t run, std::uint32_t site,
                                     const std::string& trouble) = 0;
    // For the run, where there are no others() who may reach it. Returns whether it is so.
    virtual Result<bool> give_up(std::int64_t run, std::uint32_t site, const std::string& owner,
                                 const std::string& trouble) = 0;
    // Sites that were given up are tried again.
    virtual Result<void> hope_again(std::int64_t run) = 0;

    // Files alone; a range, or the finish of a file, by itself. What was leased of these before is
    // not uncertain: who carries it again finds out. One that holds no task is none. The same
    // ticket gives the same lease.
    virtual Result<Lease> lease(const LeaseRequest& request) = 0;
    // Ends the lease. A range that failed fails its file. False: it had ended, and nothing
    // happened; as when it is said again.
    virtual Result<bool> settle(std::int64_t lease, const std::vector<Settled>& settled) = 0;
    // Files that are not done, when the first of those that wait may be tried, and why one of them
    // is tried again.
    struct Waiting {
        std::uint64_t files = 0;
        Milliseconds next{0};
        std::string reason{};
    };
    virtual Result<Waiting> waiting(std::int64_t run, std::uint32_t site) = 0;
    // Links and directories that wait.
    virtual Result<std::vector<Task>> untidied(std::int64_t run, std::uint32_t site) = 0;
    virtual Result<std::vector<Failure>> failures(std::int64_t run, std::size_t most) = 0;
    // The names of the sources (root, name) that are not done somewhere, each once.
    virtual Result<std::vector<Task>> left_over(std::int64_t run) = 0;

    // The owner lives: so do his leases, for so long. Returns those that he still has.
    virtual Result<std::set<std::int64_t>> beat(const Mover& mover, Milliseconds lives) = 0;
    // A lease ends, and what it held becomes uncertain.
    virtual Result<void> drop(std::int64_t lease) = 0;
    // He leaves; his leases end, and what they held becomes uncertain.
    virtual Result<void> leave(const std::string& owner) = 0;
    // Who else may be at work, and when each was heard of last: also those who could not beat while
    // the state was out of reach, for as long as their leases live.
    using Heard = std::map<std::string, WallTime>;
    virtual Result<Heard> others(const std::string& owner) = 0;
    // Who conducts now, and what all who did have done in a run.
    virtual Result<std::vector<Mover>> movers() = 0;
    virtual Result<std::vector<MoverTally>> tallies(std::int64_t run) = 0;
    // Leases of those who are gone end: what they held becomes uncertain. Returns how many.
    virtual Result<std::size_t> take_over(std::int64_t run, const std::string& owner) = 0;

    // Of the run under way, or of the next one.
    virtual Result<Request> request() = 0;
    // False: a cancel of the run under way stands, and is not taken back.
    virtual Result<bool> set_request(Request request) = 0;
};

}  // namespace lambda::client::replicate
