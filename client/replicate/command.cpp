#include "client/replicate/command.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "client/command_line/usage.h"
#include "client/replicate/conductor.h"
#include "client/replicate/hooks.h"
#include "client/replicate/lanes.h"
#include "client/replicate/postgres.h"
#include "client/replicate/sql_store.h"
#include "client/replicate/state_verbs.h"
#include "client/replicate/words.h"
#include "client/transfer/left_over.h"
#include "client/transfer/offer.h"
#include "client/waiting.h"
#include "common/report/outputs.h"
#include "common/sabul/congestion/registry.h"

namespace lambda::client {
namespace {

using namespace replicate;  // the verbs below are its commands

// ---- plan

Result<void> plan(const Job& job, const Access& access, Report& report) {
    const auto carrier = make_carrier(job, access);
    const auto source = carrier->scan();
    if (!source) return source.error();
    for (const Missed& missed : source->missed) report.error(missed.error);
    if (const auto more = source->untold()) report.error(*more);
    const bool nothing_seen = source->entries.empty() && !source->missed.empty();
    if (nothing_seen) return {};
    tell_skipped(*source, [&](const std::string& text) { report.note(text); });
    if (!job.windows.open(local_time()))
        report.note("a run would wait for the window: " + job.windows.text());
    for (std::uint32_t i = 0; i < job.sites.size(); ++i) {
        const auto there = carrier->look({.site = i}, *source);
        if (!there && interrupted()) return there.error();
        if (!there) {
            report.unreached(there.error());
            show(words_of_unreached(job.sites[i], there.error()), report);
            continue;
        }
        report.session_stands();
        SitePlan plan = plan_site(*source, *there, job.which, job.conflict);
        const auto entry = [&](const Step& step) -> const Entry& {
            return source->entries[step.entry];
        };
        std::sort(plan.steps.begin(), plan.steps.end(), [&](const Step& a, const Step& b) {
            return std::tie(entry(a).name, a.entry) < std::tie(entry(b).name, b.entry);
        });
        for (const Step& step : plan.steps)
            show(words_of_step(job, job.sites[i], entry(step), step.decision), report);
        show(words_of_plan(job.sites[i], plan, *source), report);
        const auto file = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
            return entry(step).standing.kind == Kind::file &&
                   step.decision.change != Change::refuse;
        });
        if (file == plan.steps.end()) continue;
        const auto passes = carrier->try_path(i, entry(*file));
        if (!passes && interrupted()) return passes.error();
        if (!passes && passes.error().fault == Fault::file) {
            report.error(passes.error());
        } else if (!passes) {
            report.unreached(passes.error());
            show(words_of_unreached(job.sites[i], passes.error()), report);
        }
    }
    return {};
}

// ---- run

struct Begun {
    Run run;
    bool went_on = false;
};
Result<Begun> begin_or_go_on(const Job& job, Store& store, const std::string& owner,
                             Report& report) {
    std::vector<std::string> places;
    for (const Site& site : job.sites) places.push_back(site.text);
    const auto joined = store.join(job.shape(), places, owner);
    if (!joined) return joined.error();
    if (joined->replaced)
        report.note("the job changed: run " + std::to_string(joined->replaced->id) +
                    " ends where it was");
    if (joined->joined) report.note("goes on with run " + std::to_string(joined->run.id));
    return Begun{.run = joined->run, .went_on = joined->joined};
}

// A password that others can read, in the job's file.
void warn_of_password(const Job& job, Report& report) {
    struct stat status {};
    if (!is_postgres(job.state) || !has_password(job.state)) return;
    if (::stat(job.file.c_str(), &status) != 0 || (status.st_mode & 077u) == 0) return;
    report.say(job.file + ": others can read it, and `state` has a password in it; move the " +
               "password to ~/.pgpass, or chmod 600 the file");
}

// What this process did of a run.
struct Part {
    const Run& run;
    const std::string& owner;
    const Ending& ending;
    bool went_on = false;  // with what others had begun
};

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

// What this process knows of a run by itself, whatever becomes of the state.
void tell_known(const Ending& known, Report& report) {
    for (const Error& error : known.unreached) report.unreached(error);
    for (const Error& error : known.errors) report.error_here(error);  // a session stood
    report.moved(known.moved);
}

// Puts an end to the run, in the store and for the user; where other movers go on with it, for the
// user alone. `conclusion` has what is known also after an error.
struct Conclusion {
    Run run;                          // as it stands then
    bool ours = false;                // it was this process that ended it
    std::vector<SiteStatus> sites{};  // none: not known
};
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

// The command is the host's, the webhook the run's.
void tell_others(const Job& job, const Conclusion& conclusion, Report& report) {
    const Run& run = conclusion.run;
    const auto summary = [&](std::size_t most = std::string::npos) {
        return summary_of(job, run, conclusion.sites, most);
    };
    if (!job.after.empty()) {
        const auto ran = run_command({.key = "after", .command = job.after},
                                     {{"LAMBDA_JOB", job.name},
                                      {"LAMBDA_RUN", std::to_string(run.id)},
                                      {"LAMBDA_STATE", replicate::word(run.state)},
                                      {"LAMBDA_EXIT_CODE", std::to_string(report.exit_code())},
                                      {"LAMBDA_SUMMARY", summary(kMostSummary)}},
                                     job.hook_timeout);
        if (!ran) report.error(ran.error());
    }
    if (job.webhook.empty() || !conclusion.ours) return;
    if (const auto posted = post_json(job.webhook, summary()); !posted)
        report.say("webhook: " + posted.error().sentence());
}

// What is being done, for who looks on: a line that is written over, or now and then one more.
class Onlooker {
  public:
    explicit Onlooker(Report& report) : report_(report) {}
    ~Onlooker() { report_.live(""); }
    Onlooker(const Onlooker&) = delete;
    Onlooker& operator=(const Onlooker&) = delete;

    void show(const std::string& doing) {
        if (report_.quiet()) return;
        if (report_.on_terminal()) return report_.live(doing);
        if (doing.empty() || doing == told_ || client::now() < next_) return;
        next_ = client::now() + kPlainInterval;
        report_.note(told_ = doing);
    }

  private:
    static constexpr Duration kPlainInterval = std::chrono::minutes(1);
    Report& report_;
    std::string told_;
    Time next_ = client::now() + kPlainInterval;
};

// The run, until it ends or goes on without us. `conclusion` has what is known also after an error.
Result<Ending::How> carry_out(const Job& job, const Arguments& arguments, Store& store,
                              const std::string& owner, const Begun& begun, Report& report,
                              Conclusion& conclusion) {
    const auto carrier = make_carrier(job, arguments.access());
    const auto lanes = Lanes::make(job, *carrier);
    if (!lanes) return lanes.error();
    if (const auto standing = status_of(store); standing && standing->request == Request::pause)
        report.say("a pause from before holds it until `replicate JOB resume`");
    std::optional<Onlooker> onlooker(report);
    Conductor conductor(
        job, store, **lanes, owner, [&](const std::string& text) { report.note(text); },
        [&](const std::string& doing) { onlooker->show(doing); });
    const auto ending = conductor.conduct(begun.run);
    onlooker.reset();
    tell_known(conductor.known(), report);
    if (!ending) return ending.error();
    const Part part{begun.run, owner, *ending, begun.went_on};
    const auto ended = conclude(job, part, store, arguments.left_over, report, conclusion);
    if (!ended) return ended.error();
    return ending->how;
}

void tell_failure(const Error& error, Report& report) {
    // It is no session that was missing.
    if (interrupted()) return report.error_here(error);
    report.error(error);
}

Result<void> run(const Job& job, const Arguments& arguments, Report& report) {
    if (const auto law = sabul::check_law(job.settings.congestion); !law)
        return usage(job.file, law.error().message, law.error().remedy);
    if (const std::uint64_t least = least_memory(job.lanes);
        !job.source && job.settings.memory < least) {
        return usage(job.file,
                     std::to_string(job.lanes) + " sessions at a time need " + format_size(least) +
                         " of memory, and may have " + format_size(job.settings.memory),
                     "raise memory, or lower concurrency");
    }
    warn_of_password(job, report);
    auto store = open_store(job.state, job.name, job.patience, Conductor::longest_pause(job));
    if (!store) return store.error();
    const auto alone = (*store)->conduct();
    if (!alone) return alone.error();
    if (!*alone) {
        return usage(job.file, "a run of this job is under way",
                     "`replicate JOB watch` follows it, `replicate JOB cancel` ends it");
    }
    if (!job.before.empty()) {
        const auto ran = run_command({.key = "before", .command = job.before},
                                     {{"LAMBDA_JOB", job.name}}, job.hook_timeout);
        if (!ran) return ran.error();
    }
    const std::string owner = fresh_owner();
    const auto begun = begin_or_go_on(job, **store, owner, report);
    if (!begun) return begun.error();
    Conclusion conclusion{.run = begun->run};
    const auto how = carry_out(job, arguments, **store, owner, *begun, report, conclusion);
    if (!how) tell_failure(how.error(), report);
    const bool by_user = how ? *how == Ending::How::interrupted : interrupted();
    if (!by_user) tell_others(job, conclusion, report);
    return {};
}

// What looks at the state of a job, or changes it.
struct StateVerb {
    std::string_view name;
    Result<void> (*perform)(const Job&, Store&, Report&);
};
constexpr std::array<StateVerb, 6> kStateVerbs{{
    {"status", status},
    {"watch", watch},
    {"pause", [](const Job& job, Store& store,
                 Report& report) { return ask(job, store, Request::pause, report); }},
    {"resume", [](const Job& job, Store& store,
                  Report& report) { return ask(job, store, Request::none, report); }},
    {"cancel", [](const Job&, Store& store, Report& report) { return cancel(store, report); }},
    {"history", history},
}};

Result<void> perform(const Job& job, const std::string& verb, const Arguments& arguments,
                     Report& report) {
    if (verb == "plan") return plan(job, arguments.access(), report);
    if (verb == "run") return run(job, arguments, report);
    const auto known = std::find_if(kStateVerbs.begin(), kStateVerbs.end(),
                                    [&](const StateVerb& each) { return each.name == verb; });
    if (known == kStateVerbs.end())
        return usage(verb, "is no command of a job",
                     "it is one of plan, run, status, pause, resume, cancel, history, watch");
    auto store = open_store(job.state, job.name, job.patience, Conductor::longest_pause(job));
    return store ? known->perform(job, **store, report) : Result<void>(store.error());
}

}  // namespace

void replicate_job(const Arguments& arguments, Report& report) {
    const std::string& file = arguments.operands.front();
    if (report::one_file(file, arguments.left_over))
        return report.error(usage(
            file, "the list of what is left over would take the place of the job", "name another"));
    auto job = load_job(file, arguments.settings);
    if (!job) return report.error(job.error());
    // What the command line says comes before what the job says.
    const auto settings = settings_over(job->settings, arguments);
    if (!settings) return report.error(settings.error());
    job->settings = *settings;
    if (!arguments.source_password_file.empty())
        job->source_password_file = arguments.source_password_file;
    const std::string verb = arguments.operands.size() > 1 ? arguments.operands[1] : "run";
    const auto performed = perform(*job, verb, arguments, report);
    if (!performed) tell_failure(performed.error(), report);
}

}  // namespace lambda::client
