#include "client/replicate/conductor.h"

#include <algorithm>

#include "client/replicate/plan.h"
#include "client/retry.h"
#include "common/base/units.h"

namespace lambda::client::replicate {

using std::chrono::milliseconds;

namespace {

std::string reason_of(const Error& error) {
    return error.remedy.empty() ? error.message : error.message + "; " + error.remedy;
}

}  // namespace

Conductor::Conductor(const Job& job, Store& store, Crew& crew, std::string owner, Say say)
    : job_(job), store_(store), crew_(crew), owner_(std::move(owner)), say_(std::move(say)) {}

Result<Ending> Conductor::conduct(const Run& run) {
    auto going = begin(run);
    while (going) {
        const auto on = turn();
        if (!on) {
            going = on.error();
        } else if (!*on) {
            break;
        }
    }
    if (!going) return going.error();
    return std::move(result_);
}

Result<void> Conductor::begin(const Run& run) {
    run_ = run.id;
    const auto statuses = store_.sites(run_);
    if (!statuses) return statuses.error();
    LAMBDA_ASSERT(statuses->size() == job_.sites.size());
    for (std::uint32_t i = 0; i < statuses->size(); ++i) {
        sites_.push_back({.state = (*statuses)[i].state, .heard = crew_.now()});
        if (sites_[i].state != SiteState::given_up) continue;
        if (auto set = set_state(i, SiteState::unlisted); !set) return set;
    }
    return store_.take_over(run_, owner_, crew_.now());
}

Result<bool> Conductor::turn() {
    for (Done& done : crew_.take()) {
        if (auto handled = handle(std::move(done)); !handled) return handled.error();
    }
    if (auto heard = hear(); !heard) return heard.error();
    if (crew_.busy() == 0 && (ending_ || over())) return false;
    keep_hours();
    if (open_ && !ending_) {
        if (auto filled = fill(); !filled) return filled.error();
        if (crew_.busy() == 0 && over()) return false;
    }
    if (auto beaten = beat(); !beaten) return beaten.error();
    crew_.wait(crew_.now() + kTick);
    return true;
}

Result<void> Conductor::hear() {
    if (ending_) return {};
    if (crew_.interrupted()) {
        ending_ = true;
        result_.how = Ending::How::interrupted;
        crew_.stop();
        return {};
    }
    const auto request = store_.request();
    if (!request) return request.error();
    if (*request == Request::cancel) {
        ending_ = true;
        result_.how = Ending::How::cancelled;
        crew_.stop();
        return store_.set_request(Request::none);
    }
    const bool pause = *request == Request::pause;
    if (pause != paused_) say_(pause ? "paused; `replicate JOB resume` goes on" : "resumed");
    paused_ = pause;
    return {};
}

// What runs when the hours end, or at another rate than the hour's, is stopped; it goes on from
// there.
void Conductor::keep_hours() {
    const LocalTime local = crew_.local();
    const bool window = job_.windows.open(local);
    if (window != in_window_)
        say_(window ? "the window is open" : "waits for the window: " + job_.windows.text());
    in_window_ = window;
    const bool open = window && !paused_;
    const BitRate rate = job_.lane_rate(local);
    if (open && !open_) {
        for (SiteWork& site : sites_) site.heard = crew_.now();  // nobody spoke to it
    }
    if (crew_.busy() > 0 && (!open || rate != rate_)) crew_.stop();
    open_ = open && (crew_.busy() == 0 || rate == rate_);
    if (crew_.busy() == 0) rate_ = rate;
}

Result<void> Conductor::beat() {
    const WallTime now = crew_.now();
    if (now < next_beat_) return {};
    next_beat_ = now + kBeat;
    std::string doing = crew_.doing();
    if (paused_) {
        doing = "paused";
    } else if (!in_window_) {
        doing = "waits for the window: " + job_.windows.text();
    }
    return store_.beat({.owner = owner_, .heartbeat = now, .doing = doing}, now + kLease);
}

Result<void> Conductor::fill() {
    const auto count = static_cast<std::uint32_t>(sites_.size());
    bool any = true;
    while (crew_.idle() > 0 && any) {
        any = false;
        for (std::uint32_t i = 0; i < count && crew_.idle() > 0; ++i) {
            const auto started = start_work((first_ + i) % count);
            if (!started) return started.error();
            any = any || *started;
        }
        first_ = (first_ + 1) % count;
    }
    return {};
}

Result<bool> Conductor::start_work(std::uint32_t number) {
    const SiteWork& site = sites_[number];
    if (site.not_before > crew_.now()) return false;
    switch (site.state) {
        case SiteState::unlisted:
            return start_listing(number);
        case SiteState::moving:
            return start_moving(number);
        case SiteState::tidying:
            return start_tidying(number);
        case SiteState::done:
        case SiteState::given_up:
            return false;
    }
    LAMBDA_ASSERT(false);
}

void Conductor::start(Work work) {
    if (work.kind != Work::Kind::scan) ++sites_[work.load.site].in_hand;
    crew_.start(std::move(work));
}

Result<bool> Conductor::start_listing(std::uint32_t number) {
    if (scanning_ || sites_[number].in_hand > 0) return false;
    if (!source_) {
        scanning_ = true;
        start({.kind = Work::Kind::scan, .load = {}, .source = {}});
    } else {
        start({.kind = Work::Kind::look, .load = {.site = number}, .source = source_});
    }
    return true;
}

Result<std::vector<Task>> Conductor::lease(std::uint32_t number, TaskState from) {
    const WallTime now = crew_.now();
    return store_.lease({.owner = owner_,
                         .run = run_,
                         .site = number,
                         .from = from,
                         .most_files = job_.batch_files,
                         .most_bytes = job_.batch_size,
                         .one_directory = from == TaskState::waiting,
                         .now = now,
                         .until = now + kLease});
}

Result<bool> Conductor::start_moving(std::uint32_t number) {
    for (const TaskState from : {TaskState::uncertain, TaskState::waiting}) {
        auto tasks = lease(number, from);
        if (!tasks) return tasks.error();
        if (tasks->empty()) continue;
        const bool check = from == TaskState::uncertain;
        start({.kind = check ? Work::Kind::check : Work::Kind::carry,
               .load = {.site = number, .tasks = *std::move(tasks), .rate = rate_},
               .source = {}});
        return true;
    }
    if (sites_[number].in_hand > 0) return false;
    const auto waiting = store_.waiting(run_, number);
    if (!waiting) return waiting.error();
    if (waiting->files > 0) {
        sites_[number].not_before = waiting->next;
        return false;
    }
    const auto untidied = store_.untidied(run_, number);
    if (!untidied) return untidied.error();
    const auto statuses = store_.sites(run_);
    if (!statuses) return statuses.error();
    const bool touched = !untidied->empty() || (*statuses)[number].moved.files > 0;
    if (auto set = set_state(number, touched ? SiteState::tidying : SiteState::done); !set)
        return set.error();
    return touched;
}

Result<bool> Conductor::start_tidying(std::uint32_t number) {
    if (sites_[number].in_hand > 0) return false;
    auto tasks = store_.untidied(run_, number);
    if (!tasks) return tasks.error();
    start({.kind = Work::Kind::carry,
           .load = {.site = number, .tasks = *std::move(tasks), .rate = rate_, .tidy = true},
           .source = {}});
    return true;
}

// ---- what the crew has done

Result<void> Conductor::handle(Done done) {
    if (done.work.kind != Work::Kind::scan) --sites_[done.work.load.site].in_hand;
    switch (done.work.kind) {
        case Work::Kind::scan:
            return handle_scan(std::get<Result<Listing>>(std::move(done.result)), done.stopped);
        case Work::Kind::look:
            return handle_look(done, std::get<Result<Standings>>(done.result));
        case Work::Kind::check:
            return handle_check(done, std::get<Result<Standings>>(done.result));
        case Work::Kind::carry:
            return handle_carried(done, std::get<Result<mover::Outcome>>(done.result));
    }
    LAMBDA_ASSERT(false);
}

Result<void> Conductor::handle_scan(Result<Listing> result, bool stopped) {
    scanning_ = false;
    if (result) {
        if (result->skipped > 0)
            say_(std::to_string(result->skipped) + " pipes, sockets and devices are skipped");
        source_ = std::make_shared<const Listing>(*std::move(result));
        return {};
    }
    if (stopped) return {};
    if (!may_pass(result.error())) return result.error();
    for (std::uint32_t i = 0; i < sites_.size(); ++i) {
        if (auto said = trouble(i, result.error()); !said) return said;
    }
    return {};
}

Result<void> Conductor::handle_look(const Done& done, const Result<Standings>& result) {
    const std::uint32_t number = done.work.load.site;
    if (!result) return done.stopped ? Result<void>() : trouble(number, result.error());
    const Listing& source = *done.work.source;
    const Side there = job_.direction == session::Direction::put ? Side::remote : Side::local;
    const SitePlan plan = plan_site(source, *result, job_.which, job_.conflict);
    Planned planned{.tasks = {}, .same = {plan.same_files, plan.same_bytes}};
    planned.tasks.reserve(source.missed.size() + plan.steps.size());
    for (const Missed& missed : source.missed) {
        planned.tasks.push_back({.root = missed.root,
                                 .name = missed.name,
                                 .standing = {.kind = Kind::other},
                                 .refused = reason_of(missed.error),
                                 .side = missed.error.side});
    }
    for (const Step& step : plan.steps) {
        const Entry& entry = source.entries[step.entry];
        planned.tasks.push_back(
            {.root = entry.root,
             .name = entry.name,
             .standing = entry.standing,
             .refused = step.decision.change == Change::refuse ? step.decision.why : "",
             .side = there});
    }
    if (auto kept = store_.plan(run_, number, planned); !kept) return kept;
    sites_[number].state = SiteState::moving;
    result_.session_stood = true;
    return well(number);
}

Result<void> Conductor::release(const Done& done, TaskState state) {
    std::vector<Settled> settled;
    for (const Task& task : done.work.load.tasks)
        settled.push_back({.id = task.id, .state = state, .attempts = task.attempts});
    return store_.settle(settled);
}

Result<void> Conductor::handle_check(const Done& done, const Result<Standings>& result) {
    const Load& load = done.work.load;
    if (!result) {
        if (auto released = release(done, TaskState::uncertain); !released) return released;
        return done.stopped ? Result<void>() : trouble(load.site, result.error());
    }
    std::vector<Settled> settled;
    for (std::size_t i = 0; i < load.tasks.size(); ++i) {
        const Task& task = load.tasks[i];
        const auto& there = (*result)[i];
        const bool same = there && there->kind == Kind::file && there->size == task.standing.size &&
                          there->mtime_ns == task.standing.mtime_ns;
        settled.push_back({.id = task.id,
                           .state = same ? TaskState::done : TaskState::waiting,
                           .moved = same,
                           .attempts = task.attempts});
    }
    // It is well when files move: where servers can be spoken to and data cannot pass, each load
    // would be cut, and each look after it succeed, for ever.
    return store_.settle(settled);
}

Result<void> Conductor::handle_carried(const Done& done, const Result<mover::Outcome>& result) {
    const Load& load = done.work.load;
    if (result) {
        result_.session_stood = true;
        add(*result);
        if (load.tidy) return handle_tidied(done, *result);
        if (auto kept = store_.settle(settle(load.tasks, *result)); !kept) return kept;
        if (!result->cut || result->bytes > 0 || !result->done.empty()) {
            if (auto said = well(load.site); !said) return said;
        }
        return result->cut && !done.stopped ? trouble(load.site, *result->cut) : Result<void>();
    }
    const Error& error = result.error();
    if (load.tidy) return done.stopped ? Result<void>() : trouble(load.site, error);
    if (!may_pass(error) && error.fault != Fault::usage) {  // the server refuses all of it
        std::vector<Settled> settled;
        for (const Task& task : load.tasks) settled.push_back(failed(task, error));
        return store_.settle(settled);
    }
    if (auto released = release(done, TaskState::waiting); !released) return released;
    if (error.fault == Fault::usage) return error;
    return done.stopped ? Result<void>() : trouble(load.site, error);
}

Result<void> Conductor::handle_tidied(const Done& done, const mover::Outcome& outcome) {
    const Load& load = done.work.load;
    if (outcome.cut) return done.stopped ? Result<void>() : trouble(load.site, *outcome.cut);
    std::map<std::string, const Error*> errors;
    for (const mover::FileFailure& failure : outcome.failures)
        errors.emplace(failure.name, &failure.error);
    std::vector<Settled> settled;
    for (const Task& task : load.tasks) {
        const auto error = errors.find(task.name);
        settled.push_back({.id = task.id, .state = TaskState::done, .moved = true});
        if (error == errors.end()) continue;
        settled.back() = failed(task, *error->second);
        settled.back().state = TaskState::failed;
        errors.erase(error);
    }
    if (auto kept = store_.settle(settled); !kept) return kept;
    const auto known = store_.failures(run_, mover::Outcome::kMaxFailures);
    if (!known) return known.error();
    for (const Failure& failure : *known) errors.erase(failure.name);
    for (const auto& [name, error] : errors) {
        Error said = *error;
        said.path = job_.sites[load.site].text + ": " + name;
        add_error(std::move(said));
    }
    return set_state(load.site, SiteState::done);
}

Settled Conductor::failed(const Task& task, const Error& error) const {
    const bool again = task.attempts < job_.retries;
    const auto back_off = std::chrono::ceil<milliseconds>(job_.back_off);
    const auto longest = std::chrono::ceil<milliseconds>(job_.longest_back_off);
    const milliseconds pause =
        std::min(longest, back_off * (std::int64_t{1} << std::min(task.attempts, 20u)));
    return {.id = task.id,
            .state = again ? TaskState::waiting : TaskState::failed,
            .moved = false,
            .attempts = task.attempts + 1,
            .not_before = again ? crew_.now() + pause : kNoTime,
            .fault = error.fault,
            .side = error.side,
            .reason = reason_of(error)};
}

std::vector<Settled> Conductor::settle(const std::vector<Task>& tasks,
                                       const mover::Outcome& outcome) const {
    const std::set<std::string_view> done(outcome.done.begin(), outcome.done.end());
    std::map<std::string_view, Error> errors;
    for (const mover::FileFailure& failure : outcome.failures)
        errors.emplace(failure.name, failure.error);
    for (const mover::Skipped& skipped : outcome.skips)
        errors.emplace(skipped.name, Error{.fault = Fault::file,
                                           .message = "cannot be moved: " + skipped.why,
                                           .path = {},
                                           .side = Side::local,
                                           .remedy = {}});
    const Error unsaid{.fault = Fault::file,
                       .message = "the transfer ended without a word about it",
                       .path = {},
                       .side = Side::network,
                       .remedy = {}};
    std::vector<Settled> settled;
    settled.reserve(tasks.size());
    for (const Task& task : tasks) {
        const auto error = errors.find(task.name);
        if (done.contains(task.name)) {
            settled.push_back({.id = task.id, .state = TaskState::done, .moved = true});
        } else if (error != errors.end() || !outcome.cut) {
            settled.push_back(failed(task, error != errors.end() ? error->second : unsaid));
        } else {
            settled.push_back(
                {.id = task.id, .state = TaskState::uncertain, .attempts = task.attempts});
        }
    }
    return settled;
}

// ---- sites

Result<void> Conductor::well(std::uint32_t number) {
    SiteWork& site = sites_[number];
    site.heard = crew_.now();
    site.pause = milliseconds(0);
    if (!std::exchange(site.troubled, false)) return {};
    say_(job_.sites[number].text + ": goes on");
    return store_.set_site(run_, number, site.state, "");
}

namespace {

// What the network does may pass; a refusal does not.
bool unreachable(const Error& error) {
    return error.fault == Fault::cut ||
           (error.fault == Fault::session && error.side == Side::network);
}

}  // namespace

Result<void> Conductor::trouble(std::uint32_t number, const Error& error) {
    SiteWork& site = sites_[number];
    const WallTime now = crew_.now();
    if (site.state == SiteState::done || site.state == SiteState::given_up) return {};
    if (!unreachable(error) || now - site.heard >= job_.patience) {
        site.state = SiteState::given_up;
        Error said = error;
        said.message = job_.sites[number].text + ": given up: " + error.message;
        add_error(std::move(said));
    } else if (site.not_before <= now) {  // lanes beside this one heard the same
        site.pause = std::clamp(2 * site.pause, kFirstPause, kLongestPause);
        site.not_before = now + site.pause;
        if (!site.troubled)
            say_(job_.sites[number].text + ": " + error.sentence() + "; trying again");
    }
    site.troubled = true;
    return store_.set_site(run_, number, site.state, error.sentence());
}

Result<void> Conductor::set_state(std::uint32_t number, SiteState state) {
    sites_[number].state = state;
    return store_.set_site(run_, number, state, "");
}

void Conductor::add_error(Error error) {
    if (result_.errors.size() < mover::Outcome::kMaxFailures)
        result_.errors.push_back(std::move(error));
}

void Conductor::add(const mover::Outcome& outcome) {
    mover::Outcome next = outcome;
    next.done.clear();  // they are in the store
    next.failures.clear();
    next.skips.clear();
    next.failed = 0;
    next.skipped = 0;
    next.cut.reset();
    next.links += result_.moved.links;
    next.directories += result_.moved.directories;
    add_try(result_.moved, next);
}

bool Conductor::over() const {
    return std::all_of(sites_.begin(), sites_.end(), [](const SiteWork& site) {
        return site.state == SiteState::done || site.state == SiteState::given_up;
    });
}

}  // namespace lambda::client::replicate
