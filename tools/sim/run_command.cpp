#include "tools/sim/run_command.h"

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/report/outputs.h"
#include "config/option_values.h"
#include "tools/sim/named.h"
#include "tools/sim/report.h"
#include "tools/sim/told.h"

namespace lambda::simulation {
namespace {

namespace fs = std::filesystem;

struct Command {
    std::vector<std::string> names;
    std::string csv, report;
    std::string line;  // the whole command line
    std::uint64_t seed = 1;
    std::optional<unsigned> seeds;
    unsigned jobs = 1;
    bool json = false, table = false;
};

int complain(const std::string& what, int code) {
    std::cerr << "lambda-sim: " << what << "\n";
    return code;
}

// A file, or the name of a scenario that is shipped.
std::string file_of(const std::string& name) {
    const bool is_name = name.find_first_of("/.") == std::string::npos;
    return is_name ? (fs::path(LAMBDA_SCENARIOS) / (name + ".yaml")).string() : name;
}

int list() {
    std::error_code error;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(LAMBDA_SCENARIOS, error)) {
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
    if (error) return complain("cannot read " LAMBDA_SCENARIOS ": " + error.message(), 1);
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
        const auto scenario = read_named(file.string());
        if (!scenario) return complain(scenario.error().sentence(), 2);
        std::printf("%-8s %s (%s)\n", file.stem().c_str(), scenario->title.c_str(),
                    scenario->source.c_str());
    }
    return 0;
}

// Each run with each seed, in the order of the file within a seed; some at once.
std::vector<std::vector<RunResult>> run_all(const NamedScenario& scenario, const Command& command,
                                            unsigned seeds) {
    const std::size_t runs = scenario.runs.size();
    std::vector<std::vector<RunResult>> results(seeds, std::vector<RunResult>(runs));
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < seeds * runs; i = next++) {
            const NamedRun& run = scenario.runs[i % runs];
            FlowsScenario flows = run.scenario;
            flows.seed = command.seed + i / runs;
            results[i / runs][i % runs] = {run.name, run_flows(flows)};
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < command.jobs; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    return results;
}

// Of each expectation and each run that it is asked of, the seed that does worst; those of one
// expectation together.
std::vector<std::vector<Finding>> findings_of(const NamedScenario& scenario,
                                              const std::vector<std::vector<RunResult>>& results,
                                              std::uint64_t first_seed) {
    std::vector<std::vector<Finding>> all;
    for (const Expectation& expectation : scenario.expectations) {
        std::vector<std::vector<Finding>> by_run;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const auto found = judge(expectation, results[i]);
            by_run.resize(found.size());
            for (std::size_t k = 0; k < found.size(); ++k) {
                by_run[k].push_back(found[k]);
                by_run[k].back().seed = first_seed + i;
            }
        }
        auto& told = all.emplace_back();
        for (const auto& seeds : by_run) told.push_back(worst(seeds));
    }
    return all;
}

std::string where_of(const Finding& finding, bool several_seeds) {
    std::string where = finding.run;
    if (several_seeds)
        where += (where.empty() ? "seed " : ", seed ") + std::to_string(finding.seed);
    return where;
}

std::string json_of(const std::vector<std::vector<RunResult>>& results,
                    const std::vector<std::vector<Finding>>& findings, std::uint64_t first_seed) {
    nlohmann::ordered_json told;
    for (std::size_t i = 0; i < results.size(); ++i) {
        for (const RunResult& run : results[i]) {
            auto one = nlohmann::ordered_json::parse(simulation::json_of(run.result));
            one["run"] = run.name;
            one["seed"] = first_seed + i;
            told["runs"].push_back(std::move(one));
        }
    }
    for (const auto& of_one : findings) {
        for (const Finding& finding : of_one) {
            told["expect"].push_back({{"text", finding.text},
                                      {"run", finding.run},
                                      {"seed", finding.seed},
                                      {"figure", rounded(finding.figure)},
                                      {"holds", finding.holds()}});
        }
    }
    return told.dump();
}

// What was found of a scenario, then each run of the first seed.
void add_sections(report::Page& page, const std::string& name, const NamedScenario& scenario,
                  const std::vector<RunResult>& results,
                  const std::vector<std::vector<Finding>>& findings, std::uint64_t first_seed) {
    report::Table table{.head = {"expected", "", "figure", "run", "seed"}, .rows = {}};
    for (const auto& of_one : findings) {
        for (const Finding& finding : of_one) {
            table.rows.push_back({finding.text, finding.holds() ? "holds" : "FAILS",
                                  report::significant(finding.figure, 4), finding.run,
                                  std::to_string(finding.seed)});
        }
    }
    page.sections.push_back({.title = name + ": " + scenario.title,
                             .text = scenario.source,
                             .tables = {std::move(table)},
                             .charts = {}});
    for (std::size_t i = 0; i < results.size(); ++i) {
        FlowsScenario flows = scenario.runs[i].scenario;
        flows.seed = first_seed;
        page.sections.push_back(section_of(results[i].name, flows, results[i].result));
    }
}

// One scenario: 0 where all holds. `page` is added to where there is one, `csv` where it is open.
int run(const Command& command, const std::string& name, report::Page* page, std::ofstream& csv) {
    const auto scenario = read_named(file_of(name));
    if (!scenario) return complain(scenario.error().sentence(), 2);
    const unsigned seeds = command.seeds.value_or(scenario->seeds);
    const bool told_in_full = !command.json && !command.table;
    if (told_in_full) {
        std::printf("%s (%s)\n", scenario->title.c_str(), scenario->source.c_str());
        std::fflush(stdout);
    }
    const auto results = run_all(*scenario, command, seeds);
    const auto findings = findings_of(*scenario, results, command.seed);
    if (csv.is_open()) {
        for (const RunResult& run : results.front()) write_csv(csv, run.result, run.name);
    }
    if (page != nullptr)
        add_sections(*page, name, *scenario, results.front(), findings, command.seed);
    if (command.json) std::cout << json_of(results, findings, command.seed) << "\n";
    if (told_in_full && seeds == 1) {
        for (const RunResult& run : results.front()) {
            if (!run.name.empty()) std::printf("\n%s:\n", run.name.c_str());
            print(run.result);
        }
    }
    if (told_in_full) std::printf("\n");
    bool all = true;
    for (const auto& of_one : findings) {
        all = all && worst(of_one).holds();
        if (command.table) {
            const Finding& finding = worst(of_one);
            std::printf("| %s | %s | %s | %.4g | %s |\n", name.c_str(), finding.text.c_str(),
                        finding.holds() ? "holds" : "**fails**", finding.figure,
                        where_of(finding, seeds > 1).c_str());
        }
        for (const Finding& finding : told_in_full ? of_one : std::vector<Finding>{}) {
            std::printf("%-4s %10.4f  %s  %s\n", finding.holds() ? "ok" : "FAIL", finding.figure,
                        finding.text.c_str(), where_of(finding, seeds > 1).c_str());
        }
    }
    std::fflush(stdout);
    return all ? 0 : 1;
}

int run(const Command& command) {
    if (const auto apart =
            report::check_apart({{"--csv", command.csv}, {"--report", command.report}});
        !apart)
        return complain(apart.error().sentence(), 2);
    if (!command.csv.empty() && command.names.size() > 1)
        return complain("--csv takes one scenario", 2);
    if (command.table)
        std::printf("| scenario | expected | | worst | where |\n|---|---|---|---|---|\n");
    auto file = report::File::make(command.report);
    if (!file) return complain(file.error().sentence(), 1);
    std::ofstream csv;
    if (!command.csv.empty()) csv.open(command.csv);
    if (!csv) return complain("cannot write " + command.csv, 1);
    report::Page page{
        .title = "lambda-sim run", .text = {}, .command = command.line, .sections = {}};
    int code = 0;
    for (const std::string& name : command.names) {
        page.title += " " + name;
        code = std::max(code, run(command, name, file->wanted() ? &page : nullptr, csv));
    }
    if (!csv.flush()) code = std::max(code, complain("cannot write " + command.csv, 1));
    if (!file->wanted()) return code;
    const auto written = file->write(page);
    return written ? code : std::max(code, complain(written.error().sentence(), 1));
}

}  // namespace

void add_run_commands(CLI::App& app, const std::string& command_line, int& exit_code) {
    app.add_subcommand("list", "the named scenarios")->callback([&exit_code] {
        exit_code = list();
    });
    const auto made = std::make_shared<Command>();
    made->line = command_line;
    CLI::App* command = app.add_subcommand("run", "named scenarios, and what they must show");
    command->add_option("scenario", made->names, "some of `list`, or files")->required();
    command->add_option("--seed", made->seed, "the first")
        ->check(config::wrong_with_number)
        ->type_name("NUMBER")
        ->capture_default_str();
    command->add_option("--seeds", made->seeds, "how many, instead of the file's")
        ->check(CLI::Range(1u, kMaxSeeds).description(""))
        ->type_name("1.." + std::to_string(kMaxSeeds));
    command->add_option("--jobs", made->jobs, "threads")
        ->check(CLI::Range(1u, 256u).description(""))
        ->type_name("1..256")
        ->capture_default_str();
    command->add_option("--csv", made->csv,
                        "the series of the first seed, by bins of 100 ms; of one scenario");
    command->add_option("--report", made->report,
                        "a page with tables, and charts of the first seed, HTML");
    command->add_flag("--json", made->json, "measures and findings as one line of JSON each");
    command->add_flag("--table", made->table, "the worst of each expectation, as Markdown");
    command->callback([made, &exit_code] { exit_code = run(*made); });
}

}  // namespace lambda::simulation
