#include "client/replicate/conclusion.h"

#include <algorithm>

#include "client/replicate/hooks.h"
#include "client/replicate/state_verbs.h"
#include "client/replicate/words.h"
#include "client/transfer/left_over.h"
#include "client/waiting.h"

namespace lambda::client::replicate {
namespace {

Result<void> keep_left_over(const Job& job, const Part& part, Store& store, const std::string& file,
                            Report& report) {
    const auto tasks = store.left_over(part.run.id);
    if (!tasks) return tasks.error();
    std::vector<std::string> names;
    for (const Task& task : *tasks) names.push_back(left_over_name(job, task.root, task.name));
    // Where it is not known what a destination needs, all may be missing.
    const auto statuses = store.sites(part.run.id);
    if (!statuses) return statuses.error();
    for (const SiteStatus& site : *statuses) {
        const bool unknown =
            site.same.files + site.moved.files + site.waiting.files + site.failed == 0;
        if (!unknown || site.state == SiteState::done) continue;
        names.clear();
        // A local path is the job file's.
        const bool local = job.direction == session::Direction::put && !job.source;
        for (const SourceRoot& root : job.roots) names.push_back(local ? root.path : root.text);
        break;
    }
    if (names.empty()) return empty_left_over(file);
    const auto kept = write_left_over(file, names);
    if (!kept) return kept.error();
    report.left_over(*kept);
    report.say(std::string(part.ending.how == Ending::How::finished ? "what was not done"
                                                                    : "what is not done yet") +
               " is listed in " + *kept);
    return {};
}

// What another mover gave up, or left when it ended the run.
Error not_done(const SiteStatus& site) {
    return Error{.fault = Fault::cut,
                 .message = "another mover ended the run without it" +
                            (site.trouble.empty() ? std::string() : ": " + site.trouble),
                 .path = site.place,
                 .side = Side::network,
                 .remedy = "run the job again"};
}

// Those of destinations that are done: nobody looks for them any more.
Result<void> remove_marks(const Job& job, std::int64_t run, Store& store) {
    const auto view = store.view(run);
    if (!view) return view.error();
    for (std::size_t i = 0; i < view->sites.size() && job.marks(store.shared()); ++i) {
        if (view->sites[i] == SiteState::done)
            remove_mark(job.sites[i].path, {store.epoch(), view->listings[i]});
    }
    return {};
}

// How the run, as it stands now, goes without us.
Result<SiteSaid::Run> how_it_goes(const Run& run, const std::string& owner, Store& store) {
    if (run.state != RunState::running) return SiteSaid::Run::over;
    if (!store.shared()) return SiteSaid::Run::cut;
    const auto others = store.others(owner);
    if (!others) return others.error();
    return others->empty() ? SiteSaid::Run::cut : SiteSaid::Run::goes_on;
}

// Whether an error of this process tells what troubles the destination.
bool says_why(const Ending& ending, const SiteStatus& site) {
    const auto says = [&](const Error& error) {
        return error.sentence().find(site.trouble) != std::string::npos;
    };
    return std::any_of(ending.errors.begin(), ending.errors.end(), says) ||
           std::any_of(ending.unreached.begin(), ending.unreached.end(), says);
}

}  // namespace

void tell_known(const Ending& known, Report& report) {
    for (const Error& error : known.unreached) report.unreached(error);
    for (const Error& error : known.errors) report.error_here(error);  // a session stood
    report.moved(known.moved);
}

Result<void> conclude(const Job& job, const Part& part, Store& store,
                      const std::string& left_over_file, Report& report, Conclusion& conclusion) {
    const auto& [run, owner, ending, went_on] = part;
    // What has begun is cut, if it is, whatever it had reached.
    report.session_stands();
    const auto failures = store.failures(run.id, mover::Outcome::kMaxFailures);
    if (!failures) return failures.error();
    const auto statuses = store.sites(run.id);
    if (!statuses) return statuses.error();
    conclusion.sites = *statuses;
    bool whole = ending.errors.empty();  // what we did not reach, others may have
    for (const SiteStatus& site : *statuses)
        whole = whole && site.state == SiteState::done && site.failed == 0;
    RunState state = whole ? RunState::done : RunState::left_over;
    if (ending.how == Ending::How::cancelled) state = RunState::cancelled;
    if (ending.how == Ending::How::finished || ending.how == Ending::How::cancelled) {
        const auto ended = store.end_run(run.id, state, owner);
        if (!ended) return ended.error();
        conclusion.ours = *ended;
        if (*ended) conclusion.run.state = state;
    }
    const auto now = store.run(run.id);
    if (!now) return now.error();
    conclusion.run = now->value_or(run);
    for (const Failure& failure : *failures) {
        Error error = failure.error;
        error.path = place_of(job, failure);
        report.error(error);
    }
    if (ending.how == Ending::How::finished && ending.errors.empty() && ending.unreached.empty()) {
        for (const SiteStatus& site : *statuses) {
            if (site.state != SiteState::done) report.error(not_done(site));
        }
    }
    if (ending.how == Ending::How::interrupted) report.error(interruption_error());
    if (ending.how == Ending::How::cancelled) {
        Error cancelled = interruption_error();
        cancelled.message = "the run was cancelled";
        cancelled.remedy = "the next one compares anew";
        report.error(cancelled);
    }
    const auto goes = how_it_goes(conclusion.run, owner, store);
    if (!goes) return goes.error();
    for (const SiteStatus& site : *statuses) {
        tell(words_of_site(site, {.run = *goes, .why = !says_why(ending, site), .whole = went_on}),
             report);
    }
    if (auto gone = remove_marks(job, run.id, store); !gone) return gone.error();
    return keep_left_over(job, part, store, left_over_file, report);
}

void tell_others(const Job& job, const Conclusion& conclusion, Report& report) {
    const Run& run = conclusion.run;
    const auto summary = [&](std::size_t most = std::string::npos) {
        return summary_of(job, run, conclusion.sites, most);
    };
    if (!job.after.empty()) {
        const auto ran = run_command({.key = "after", .command = job.after},
                                     {{"LAMBDA_JOB", job.name},
                                      {"LAMBDA_RUN", std::to_string(run.id)},
                                      {"LAMBDA_STATE", word(run.state)},
                                      {"LAMBDA_EXIT_CODE", std::to_string(report.exit_code())},
                                      {"LAMBDA_SUMMARY", summary(kMostSummary)}},
                                     job.hook_timeout);
        if (!ran) report.error(ran.error());
    }
    if (job.webhook.empty() || !conclusion.ours) return;
    if (const auto posted = post_json(job.webhook, summary()); !posted)
        report.say("webhook: " + posted.error().sentence());
}

}  // namespace lambda::client::replicate
