#include "client/trial/trial.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <set>

#include "client/command_line/sources.h"
#include "client/home/home.h"
#include "client/remote/place.h"
#include "client/report/utc_text.h"
#include "client/trial/advice.h"
#include "client/trial/against.h"
#include "client/trial/page.h"
#include "client/trial/runner.h"
#include "client/waiting.h"
#include "common/report/outputs.h"
#include "common/sabul/congestion/registry.h"

namespace lambda::client {
namespace {

// A file for lines, opened before the work begins.
class Lines {
  public:
    static Result<Lines> make(const std::string& name) {
        Lines lines;
        lines.name_ = name;
        if (name.empty()) return lines;
        lines.file_.reset(std::fopen(name.c_str(), "we"));
        if (!lines.file_) return errno_error(Fault::file, "cannot be written", name, errno);
        return lines;
    }
    void put(const std::string& text) {
        if (file_) std::fputs(text.c_str(), file_.get());
    }
    Result<void> end() {
        if (!file_) return {};
        const bool whole = std::ferror(file_.get()) == 0;
        if (std::fclose(file_.release()) == 0 && whole) return {};
        return errno_error(Fault::file, "cannot be written", name_, errno);
    }

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
    std::string name_;
};

Result<std::optional<EarlierTrial>> read_earlier(const std::string& name) {
    if (name.empty()) return std::optional<EarlierTrial>();
    const auto text = read_whole_file(name);
    if (!text) return text.error();
    auto trial = earlier_trial(*text);
    if (trial) return std::optional(*std::move(trial));
    Error error = trial.error();
    error.path = name;
    return error;
}

std::string run_line(const TrialCase& what, const Measures& run, unsigned repetition) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%.3f Gbit/s", run.gbit_per_s);
    std::string line = what.title() + ", run " + std::to_string(repetition) + ": " + numbers;
    if (run.evidence) line += "; " + verdict::judge(*run.evidence).why;
    return line;
}

std::string case_line(const CaseResult& result, const std::string& change) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%10.3f Gbit/s  ", result.gbit_per_s());
    const auto verdict = result.verdict();
    return std::string(numbers) + "(" + result.interval() + ")  " + result.what.title() +
           (verdict ? "; " + verdict->why : "") + (change.empty() ? "" : "; " + change);
}

class Trial {
  public:
    Trial(const Arguments& arguments, const Place& place, Report& report)
        : arguments_(arguments), place_(place), report_(report) {}

    void run(const std::vector<TrialCase>& cases) {
        const Time began = now();
        run_all(cases);
        std::uint64_t runs = 0;
        for (const CaseResult& each : story_.cases) runs += each.runs.size();
        report_.summary(JsonObject()
                            .text("event", "summary")
                            .number("cases", std::uint64_t{story_.cases.size()})
                            .number("runs", runs)
                            .number("skipped", std::uint64_t{story_.skips.size()})
                            .number("seconds", seconds(now() - began)));
    }
    TrialStory& story() { return story_; }

  private:
    // What an earlier trial left in the files stays where the server is out of reach.
    void run_all(const std::vector<TrialCase>& cases) {
        TrialRunner runner(arguments_, place_, report_);
        report_.event(origin_json(story_.origin));
        if (const auto stands = runner.greet(); !stands) return report_.error(stands.error());
        auto page = report::File::make(arguments_.trial.report);
        if (!page) return report_.error(page.error());
        auto csv = Lines::make(arguments_.trial.csv);
        if (!csv) return report_.error(csv.error());
        csv->put(csv_head());
        run_cases(runner, cases, *csv);
        if (const auto ended = csv->end(); !ended) report_.error(ended.error());
        if (!page->wanted()) return;
        if (const auto written = page->write(trial_page(story_)); !written)
            report_.error(written.error());
    }

    void run_cases(TrialRunner& runner, const std::vector<TrialCase>& cases, Lines& csv) {
        tell_other_server();
        report_.note(std::to_string(cases.size()) + (cases.size() == 1 ? " case" : " cases") +
                     ", runs of each: " + std::to_string(arguments_.trial.repetitions) +
                     "; a case's line has the median of its runs and the 95 % interval of their "
                     "mean");
        for (const TrialCase& what : cases) {
            if (skipped_.contains(what.leg.name)) continue;
            if (!run_case(runner, what, csv)) return;
        }
        for (const std::string& sentence : advice(story_.cases)) report_.note(sentence);
        tell_not_run_again();
        if (!arguments_.trial.against.empty()) run_against(cases);
        if (story_.cases.empty())
            report_.error({.fault = Fault::file,
                           .message = "no leg of the trial could be run",
                           .path = {},
                           .side = Side::local,
                           .remedy = "why each was skipped stands above"});
    }

    void tell_other_server() {
        if (!story_.before || story_.before->server.empty()) return;
        if (story_.before->server != story_.origin.server)
            report_.note(arguments_.trial.compare +
                         " is of a trial with another server: " + story_.before->server);
    }

    void tell_not_run_again() {
        if (!story_.before) return;
        const auto gone = not_run_again(*story_.before, story_.cases);
        if (gone > 0)
            report_.note(std::to_string(gone) + (gone == 1 ? " case" : " cases") + " of " +
                         arguments_.trial.compare + (gone == 1 ? " was" : " were") +
                         " not run this time");
    }

    // False: the trial is over.
    bool run_case(TrialRunner& runner, const TrialCase& what, Lines& csv) {
        CaseResult result{what, {}};
        for (unsigned repetition = 1; repetition <= arguments_.trial.repetitions; ++repetition) {
            const auto run = runner.run(what);
            if (!run) {
                if (!may_skip(run.error())) {
                    report_.error(run.error());
                    return false;
                }
                skip(what.leg.name, run.error());
                break;
            }
            csv.put(csv_line(what, *run, repetition));
            report_.note(run_line(what, *run, repetition));
            report_.event(run_json(what, *run, repetition));
            result.runs.push_back(*run);
        }
        if (result.runs.empty()) return true;
        tell(result);
        story_.cases.push_back(std::move(result));
        return true;
    }

    void tell(const CaseResult& result) {
        JsonObject object = case_json(result);
        std::string change;
        if (story_.before) {
            const auto since = change_since(*story_.before, result);
            add_change(object, since);
            change = since ? since->sentence() : "no such case in " + arguments_.trial.compare;
        }
        report_.data(object, case_line(result, change));
    }

    // What concerns this leg alone: no right, no such file, no room.
    static bool may_skip(const Error& error) {
        return error.fault == Fault::file || error.fault == Fault::unsupported;
    }

    void skip(const std::string& leg, const Error& error) {
        // Of a trial's own file the user knows the directory, of a size nothing.
        Error said = error;
        const std::size_t own = said.path.rfind(kOwnName);
        said.path.resize(own == said.path.npos ? 0 : own);
        const std::string why = said.sentence();
        skipped_.insert(leg);
        story_.skips.push_back({leg, why});
        report_.say("skipped " + leg + ": " + why);
        report_.event(JsonObject().text("event", "skipped").text("leg", leg).text("why", why));
    }

    void run_against(const std::vector<TrialCase>& cases) {
        const TrialCase& what = cases.front();
        const auto against = parse_against(arguments_.trial.against);
        LAMBDA_ASSERT(against.has_value());
        for (const bool reverse : {false, true}) {
            const std::string leg = arguments_.trial.against + (reverse ? " get" : " put");
            const auto run = client::run_against(*against, place_.server->host, what.size,
                                                 what.settings.stripes, reverse);
            if (!run && !may_skip(run.error())) return report_.error(run.error());
            if (!run) {
                skip(leg, run.error());
                continue;
            }
            char numbers[64];
            std::snprintf(numbers, sizeof numbers, "%10.3f Gbit/s  ", run->gbit_per_s);
            const std::string text =
                numbers + leg + ", TCP, " + std::to_string(what.settings.stripes) + " connections";
            story_.beside.push_back(text);
            report_.data(JsonObject()
                             .text("event", "beside")
                             .text("program", arguments_.trial.against)
                             .text("direction", reverse ? "get" : "put")
                             .number("seconds", run->seconds)
                             .number("bytes", run->bytes)
                             .number("gbit_per_s", run->gbit_per_s),
                         text);
        }
    }

    const Arguments& arguments_;
    const Place& place_;
    Report& report_;
    TrialStory story_;
    std::set<std::string> skipped_;
};

std::string command_of(const Arguments& arguments) {
    std::vector<const char*> words{"lambda-ftp"};
    for (const std::string& word : arguments.words) words.push_back(word.c_str());
    return report::command_line(static_cast<int>(words.size()), words.data());
}

}  // namespace

void trial(const Arguments& arguments, Report& report) {
    const auto place = parse_place(arguments.operands.front());
    if (!place) return report.error(place.error());
    if (!place->server)
        return report.error({.fault = Fault::usage,
                             .message = "not a place at a server",
                             .path = arguments.operands.front(),
                             .side = Side::local,
                             .remedy = "write lambda://HOST/PATH or HOST:PATH"});
    const auto cases = cases_of(arguments.trial, arguments.settings);
    if (!cases) return report.error(cases.error());
    for (const TrialCase& what : *cases) {
        if (what.leg.kind != Leg::Kind::put) continue;  // of a get it is the server's
        if (const auto law = sabul::check_law(what.settings.congestion); !law)
            return report.error({.fault = Fault::usage,
                                 .message = law.error().message,
                                 .path = {},
                                 .side = Side::local,
                                 .remedy = law.error().remedy});
    }
    std::error_code problem;
    if (!std::filesystem::is_directory(arguments.trial.directory, problem))
        return report.error(errno_error(Fault::usage, "cannot make files for the trial there",
                                        arguments.trial.directory,
                                        problem ? problem.value() : ENOTDIR));
    if (const auto apart = report::check_apart({{"--compare", arguments.trial.compare},
                                                {"--report", arguments.trial.report},
                                                {"--csv", arguments.trial.csv}});
        !apart)
        return report.error(apart.error());
    const auto before = read_earlier(arguments.trial.compare);
    if (!before) return report.error(before.error());
    Trial all(arguments, *place, report);
    all.story().origin = {.time = utc_text(std::time(nullptr)),
                          .client = host_name(),
                          .server = place->server->endpoint(),
                          .version = LAMBDA_VERSION,
                          .command = command_of(arguments)};
    all.story().before = *before;
    all.run(*cases);
}

}  // namespace lambda::client
