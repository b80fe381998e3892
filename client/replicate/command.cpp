#include "client/replicate/command.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <set>

#include "client/command_line/usage.h"
#include "client/remote/password.h"
#include "client/replicate/conclusion.h"
#include "client/replicate/conductor.h"
#include "client/replicate/hooks.h"
#include "client/replicate/lanes.h"
#include "client/replicate/plan_verb.h"
#include "client/replicate/postgres.h"
#include "client/replicate/sql_store.h"
#include "client/replicate/state_verbs.h"
#include "client/transfer/left_over.h"
#include "client/transfer/offer.h"
#include "client/waiting.h"
#include "common/report/outputs.h"
#include "common/sabul/congestion/registry.h"

namespace lambda::client {
namespace {

using namespace replicate;  // the verbs below are its commands

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

// The servers' passwords that others can read, each file once.
void warn_of_logins(const Job& job, const Arguments& arguments, Report& report) {
    if (!arguments.certificate.empty()) return;
    std::set<std::string> said;
    const auto say = [&](const std::string& text) {
        if (said.insert(text).second) report.say(text);
    };
    const std::string& file =
        arguments.password_file.empty() ? job.password_file : arguments.password_file;
    for (const Site& site : job.sites) warn_of_readable_password(site.server, file, say);
    if (job.source) warn_of_readable_password(*job.source, job.source_password_file, say);
}

// A password that others can read, in the job's file.
void warn_of_password(const Job& job, Report& report) {
    struct stat status {};
    if (!is_postgres(job.state) || !has_password(job.state)) return;
    if (::stat(job.file.c_str(), &status) != 0 || (status.st_mode & 077u) == 0) return;
    report.say(job.file + ": others can read it, and `state` has a password in it; move the " +
               "password to ~/.pgpass, or chmod 600 the file");
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
    warn_of_logins(job, arguments, report);
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
    if (auto placed = check_left_over(arguments.left_over); !placed) return placed;
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
    if (verb == "plan") return show_plan(job, arguments.access(), report);
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
