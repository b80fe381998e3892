// What the crew has done, and what becomes of it in the store.
#include <algorithm>

#include "client/replicate/conductor.h"
#include "client/replicate/load.h"
#include "client/replicate/plan.h"
#include "client/replicate/words.h"
#include "client/report/failures.h"
#include "common/dialling/retry.h"
#include "common/transfer/sync_plan.h"

namespace lambda::client::replicate {

using dialling::may_pass;

using std::chrono::milliseconds;

namespace {

std::string reason_of(const Error& error) {
    return error.remedy.empty() ? error.message : error.message + "; " + error.remedy;
}

}  // namespace

// Of sites of which nothing is in hand.
std::string Conductor::waits() const {
    std::string text;
    for (std::size_t i = 0; i < sites_.size(); ++i) {
        const SiteWork& site = sites_[i];
        if (site.in_hand > 0 || site.waits.empty()) continue;
        if (!text.empty()) text += "; ";
        if (job_.sites.size() > 1) text += job_.sites[i].text + ": ";
        text += site.waits;
    }
    return text;
}

Result<void> Conductor::handle(Done done) {
    if (done.work.kind != Work::Kind::scan) --sites_[done.work.load.site].in_hand;
    if (done.work.kind == Work::Kind::carry && --carrying_ == 0)
        carried_ += crew_.now() - carrying_since_;
    held_.erase(done.work.load.lease);
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
        tell_skipped(*result, say_);
        if (auto more = result->untold()) add_error(*std::move(more));
        source_ = std::make_shared<const Listing>(*std::move(result));
        return {};
    }
    if (stopped) return {};
    if (!may_pass(result.error())) return end_by(result.error());
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
    Planned planned{.tasks = {}, .same = plan.same};
    planned.tasks.reserve(source.missed.size() + plan.steps.size());
    for (const Missed& missed : source.missed) {
        planned.tasks.push_back({.root = missed.root,
                                 .name = missed.name,
                                 .standing = {.kind = Kind::other},
                                 .refused = (job_.source ? "source: " : "") +
                                            reason_of(missed.error) + " (" + missed.error.path +
                                            ")",
                                 .side = missed.error.side});
    }
    const bool cuts = !job_.source && store_.shared();
    for (const Step& step : plan.steps) {
        const Entry& entry = source.entries[step.entry];
        const bool is_file = entry.standing.kind == Kind::file;
        const bool attributes = is_file && step.decision.change == Change::adjust;
        planned.tasks.push_back(
            {.root = entry.root,
             .name = entry.name,
             .standing = entry.standing,
             .refused = step.decision.change == Change::refuse ? step.decision.why : "",
             .side = there,
             .ranges = cuts && is_file && !attributes
                           ? ranges_of(entry.standing.size, job_.split_size)
                           : std::vector<Range>(),
             .attributes = attributes});
    }
    if (plan.left.files > 0) say_(job_.sites[number].text + ": " + words_of_left(plan.left));
    // Of servers, one has yet to meet the other.
    sites_[number].stood = sites_[number].stood || !job_.source;
    const auto kept = store_.plan(done.work.load.lease, planned, [this] { return beat(); });
    if (!kept) return kept.error();
    sites_[number].lead = 0;
    if (!*kept) {
        say_lost(done.work.load);
    } else {
        sites_[number].state = SiteState::moving;
        sites_[number].listing = done.work.load.lease;
    }
    return well(number);
}

void Conductor::say_lost(const Load& load) const {
    say_(job_.sites[load.site].text + ": a lease was lost meanwhile; its work is another mover's");
}

// What no further try can mend, and is not the state's: others have our work at once.
Error Conductor::end_by(const Error& error) {
    static_cast<void>(store_.leave(owner_));
    return error;
}

Result<void> Conductor::settle(const Load& load, const std::vector<Settled>& settled) {
    const auto kept = store_.settle(load.lease, settled);
    if (!kept) return kept.error();
    if (!*kept) say_lost(load);
    return {};
}

Result<void> Conductor::release(const Done& done, TaskState state, milliseconds pause) {
    std::vector<Settled> settled;
    for (const Task& task : done.work.load.tasks)
        settled.push_back(
            {.id = task.id, .state = state, .attempts = task.attempts, .pause = pause});
    return settle(done.work.load, settled);
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
        const auto& there = (*result)[i].standing;
        const bool same = there && there->kind == Kind::file && there->size == task.standing.size &&
                          transfer::same_time(task.standing.mtime_ns, there->mtime_ns);
        settled.push_back({.id = task.id,
                           .state = same ? TaskState::done : TaskState::waiting,
                           .moved = same,
                           .attempts = task.attempts});
    }
    // It is well when files move: where servers can be spoken to and data cannot pass, each load
    // would be cut, and each look after it succeed, for ever.
    return settle(load, settled);
}

namespace {

// Why a range cannot be written now: another session does, or took it over. It is no trouble of
// the site's, as is what is said of no file: that it has no place for a session, say.
const Error* busy_piece(const Load& load, const Result<mover::Outcome>& result) {
    if (load.tidy || !is_part(load.tasks.front().piece)) return nullptr;
    const Error* const error = !result ? &result.error() : (result->cut ? &*result->cut : nullptr);
    const bool busy = error != nullptr && error->fault == Fault::cut &&
                      error->side != Side::network && (result || !error->path.empty());
    return busy ? error : nullptr;
}

}  // namespace

Result<void> Conductor::handle_carried(const Done& done, const Result<mover::Outcome>& result) {
    const Load& load = done.work.load;
    if (const Error* busy = done.stopped ? nullptr : busy_piece(load, result)) {
        sites_[load.site].stood = true;
        say_(job_.sites[load.site].text + ": " + load.tasks.front().name + ": " + busy->message);
        if (auto released = release(done, TaskState::waiting, kBusyPause); !released)
            return released;
        return held(load.site, *busy);
    }
    if (result) {
        sites_[load.site].stood = true;
        add(*result);
        if (load.tidy) return handle_tidied(done, *result);
        if (auto kept = settle(load, settled_by(load, *result)); !kept) return kept;
        const Error* const busy = dialling::busy_file(*result);  // as of a range
        if (result->bytes > 0 || !result->done.empty() || (!result->cut && busy == nullptr)) {
            if (auto said = well(load.site); !said) return said;
        } else if (WallTime& since = sites_[load.site].held_since; since == kNoTime && busy) {
            since = crew_.now();  // it, not the site, is left over in the end
            say_(job_.sites[load.site].text + ": " + passing(*busy).sentence() + "; trying again");
        }
        if (!result->cut || done.stopped) return {};
        ++sites_[load.site].cuts;
        return trouble(load, *result->cut);
    }
    const Error& error = result.error();
    if (load.tidy) return done.stopped ? Result<void>() : trouble(load.site, error);
    if (!may_pass(error) && error.fault != Fault::usage) {  // the server refuses all of it
        std::vector<Settled> settled;
        for (const Task& task : load.tasks) settled.push_back(failed(task, error));
        return settle(load, settled);
    }
    if (auto released = release(done, TaskState::waiting); !released) return released;
    if (error.fault == Fault::usage) return end_by(error);
    return done.stopped ? Result<void>() : trouble(load, error);
}

Result<void> Conductor::handle_tidied(const Done& done, const mover::Outcome& outcome) {
    const Load& load = done.work.load;
    if (outcome.cut) return done.stopped ? Result<void>() : trouble(load.site, *outcome.cut);
    std::map<std::string, const Error*> errors;
    for (const mover::FileFailure& failure : outcome.failures)
        errors.emplace(failure.name, &failure.error);
    const Error among_them{.fault = Fault::file,
                           .message = "may be one of those that failed and were not told of",
                           .path = {},
                           .side = Side::network,
                           .remedy = {}};
    const bool all_told = outcome.failed == outcome.failures.size();
    std::vector<Settled> settled;
    for (const Task& task : load.tasks) {
        const auto error = errors.find(task.name);
        settled.push_back({.id = task.id, .state = TaskState::done, .moved = true});
        if (error == errors.end() && all_told) continue;
        settled.back() = failed(task, error == errors.end() ? among_them : *error->second);
        settled.back().state = TaskState::failed;
        if (error != errors.end()) errors.erase(error);
    }
    sites_[load.site].lead = 0;
    const auto kept = store_.tidied(load.lease, settled);
    if (!kept) return kept.error();
    if (!*kept) {
        say_lost(load);
        return {};
    }
    sites_[load.site].state = SiteState::done;
    const auto known = store_.failures(run_, mover::Outcome::kMaxFailures);
    if (!known) return known.error();
    for (const Failure& failure : *known) errors.erase(failure.name);
    for (const auto& [name, error] : errors) {
        Error said = *error;
        said.path = job_.sites[load.site].text + ": " + name;
        add_error(std::move(said));
    }
    return {};
}

// Of what another session has in hand, which may be one that is dead and not yet known to be: no
// attempt, within the patience of a site that does nothing else.
std::optional<Settled> Conductor::later(std::uint32_t number, const Task& task,
                                        const Error& error) const {
    const WallTime since = sites_[number].held_since;
    if (error.fault != Fault::cut) return std::nullopt;
    if (since != kNoTime && crew_.now() - since >= job_.patience) return std::nullopt;
    return Settled{.id = task.id,
                   .state = TaskState::waiting,
                   .attempts = task.attempts,
                   .pause = std::max(std::chrono::ceil<milliseconds>(job_.back_off), kHeldPause)};
}

milliseconds Conductor::longest_pause(const Job& job) {
    return std::max(std::chrono::ceil<milliseconds>(std::max(job.back_off, job.longest_back_off)),
                    kHeldPause);
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
            .pause = again ? pause : milliseconds(0),
            .fault = failure_of(error).fault,
            .side = error.side,
            .reason = reason_of(error)};
}

std::vector<Settled> Conductor::settled_by(const Load& load, const mover::Outcome& outcome) const {
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
    settled.reserve(load.tasks.size());
    for (const Task& task : load.tasks) {
        const auto error = errors.find(task.name);
        const auto again =
            error == errors.end() ? std::nullopt : later(load.site, task, error->second);
        if (done.contains(task.name) && load.from) {
            // What stands there is compared with the source: the relay's may have changed.
            settled.push_back(
                {.id = task.id, .state = TaskState::uncertain, .attempts = task.attempts + 1});
        } else if (done.contains(task.name)) {
            settled.push_back({.id = task.id, .state = TaskState::done, .moved = true});
        } else if (again) {
            settled.push_back(*again);
        } else if (error != errors.end()) {
            settled.push_back(failed(task, error->second));
        } else if (!outcome.cut) {
            settled.push_back(failed(task, unsaid));
            // It may be done: it is looked at before it moves again.
            if (settled.back().state == TaskState::waiting)
                settled.back().state = TaskState::uncertain;
        } else {
            settled.push_back(
                {.id = task.id, .state = TaskState::uncertain, .attempts = task.attempts});
        }
    }
    return settled;
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
    // Loads are of different files, but for what one that was cut left to the next: of ours it is
    // no news.
    const std::uint64_t ours = std::min(outcome.bytes_kept, cut_bytes_);
    cut_bytes_ += (outcome.cut ? outcome.bytes : 0) - ours;
    next.bytes_kept -= ours;
    replicate::add(result_.moved, next);
}

}  // namespace lambda::client::replicate
