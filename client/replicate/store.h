// The state of a job, durable at every step: its runs, what each destination still needs, who is at
// work on it, and what users ask of it from elsewhere.
//
// Work is handed out by lease: an owner holds it until a time that his heartbeats move on. What was
// leased by one who is gone is `uncertain`: it may be done already, and is looked at before it
// moves again. One thread for each Store; several processes may have the same state open.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/replicate/listing.h"
#include "common/base/result.h"

namespace lambda::client::replicate {

// By the clock on the wall: it is compared across processes and reboots.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;
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

struct Tally {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

struct Run {
    std::int64_t id = 0;
    std::string shape;  // Job::shape()
    RunState state = RunState::running;
    WallTime started{}, ended{};
    Tally moved{};
    std::uint64_t failed = 0;
};

struct Task {
    std::int64_t id = 0;
    std::uint32_t root = 0;
    std::string name;  // Entry::name
    Standing standing;
    std::uint32_t attempts = 0;  // that failed
};

struct PlannedTask {
    std::uint32_t root = 0;
    std::string name;
    Standing standing;
    std::string refused;       // why it is not to be tried; else empty
    Side side = Side::remote;  // whose fault that is
};
struct Planned {
    std::vector<PlannedTask> tasks;
    Tally same;
};

// What became of a leased task.
struct Settled {
    std::int64_t id = 0;
    TaskState state = TaskState::done;  // done, failed, uncertain, or waiting
    bool moved = false;                 // in this run, not found done
    std::uint32_t attempts = 0;
    WallTime not_before = kNoTime;
    Fault fault = Fault::file;
    Side side = Side::remote;
    std::string reason{};
};

struct LeaseRequest {
    std::string owner;
    std::int64_t run = 0;
    std::uint32_t site = 0;
    TaskState from = TaskState::waiting;  // or uncertain
    std::size_t most_files = 0;
    std::uint64_t most_bytes = 0;  // a file of as much or more goes alone
    bool one_directory = false;    // all of one directory
    WallTime now, until;
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
    std::string owner;  // "host:pid"
    WallTime heartbeat;
    std::string doing;
};

class Store {
  public:
    virtual ~Store() = default;

    // Errors of all: Fault::file with the state's path.

    virtual Result<std::optional<Run>> last_run() = 0;
    virtual Result<std::vector<Run>> runs(std::size_t most) = 0;  // the newest first
    // The tasks of earlier runs are forgotten, their totals stay; so is a cancel that was meant for
    // one of them.
    virtual Result<Run> begin_run(const std::string& shape, const std::vector<std::string>& sites,
                                  WallTime now) = 0;
    virtual Result<void> end_run(std::int64_t run, RunState state, WallTime now) = 0;

    virtual Result<std::vector<SiteStatus>> sites(std::int64_t run) = 0;
    // Sets what a site needs, in place of what it needed; it is `moving` then.
    virtual Result<void> plan(std::int64_t run, std::uint32_t site, const Planned& planned) = 0;
    virtual Result<void> set_site(std::int64_t run, std::uint32_t site, SiteState state,
                                  const std::string& trouble) = 0;

    // Files alone.
    virtual Result<std::vector<Task>> lease(const LeaseRequest& request) = 0;
    virtual Result<void> settle(const std::vector<Settled>& settled) = 0;
    // Those that wait, whenever they may be tried; and when the first of them may.
    struct Waiting {
        std::uint64_t files = 0;
        WallTime next = kNoTime;
    };
    virtual Result<Waiting> waiting(std::int64_t run, std::uint32_t site) = 0;
    // Links and directories that wait.
    virtual Result<std::vector<Task>> untidied(std::int64_t run, std::uint32_t site) = 0;
    virtual Result<std::vector<Failure>> failures(std::int64_t run, std::size_t most) = 0;
    // The names of the sources (root, name) that are not done somewhere, each once.
    virtual Result<std::vector<Task>> left_over(std::int64_t run) = 0;

    // What the owner holds stays his until then.
    virtual Result<void> beat(const Mover& mover, WallTime until) = 0;
    // Who conducts now.
    virtual Result<std::optional<Mover>> mover() = 0;
    // Leases of those who are gone become uncertain.
    virtual Result<void> take_over(std::int64_t run, const std::string& owner, WallTime now) = 0;

    virtual Result<Request> request() = 0;
    virtual Result<void> set_request(Request request) = 0;
};

}  // namespace lambda::client::replicate
