#include "tools/sim/run_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/sim/named.h"
#include "tools/sim/told.h"

namespace lambda::simulation {
namespace {

namespace fs = std::filesystem;

struct Command {
    std::string name, csv;
    std::optional<std::uint64_t> seed;
    bool json = false;
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

nlohmann::ordered_json json_of(const std::vector<RunResult>& runs,
                               const std::vector<Finding>& findings) {
    nlohmann::ordered_json told;
    for (const RunResult& run : runs) {
        auto one = nlohmann::ordered_json::parse(simulation::json_of(run.result));
        one["run"] = run.name;
        told["runs"].push_back(std::move(one));
    }
    for (const Finding& finding : findings) {
        told["expect"].push_back({{"text", finding.text},
                                  {"figure", rounded(finding.figure)},
                                  {"holds", finding.holds}});
    }
    return told;
}

int run(const Command& command) {
    auto scenario = read_named(file_of(command.name));
    if (!scenario) return complain(scenario.error().sentence(), 2);
    if (!command.json) std::printf("%s (%s)\n", scenario->title.c_str(), scenario->source.c_str());
    std::ofstream csv;
    if (!command.csv.empty()) csv.open(command.csv);
    std::vector<RunResult> results;
    for (NamedRun& run : scenario->runs) {
        if (command.seed) run.scenario.seed = *command.seed;
        results.push_back({run.name, run_flows(run.scenario)});
        if (csv.is_open()) write_csv(csv, results.back().result, run.name);
        if (command.json) continue;
        if (!run.name.empty()) std::printf("\n%s:\n", run.name.c_str());
        print(results.back().result);
        std::fflush(stdout);
    }
    if (!command.csv.empty() && !csv.flush()) return complain("cannot write " + command.csv, 1);
    std::vector<Finding> findings;
    for (const Expectation& expectation : scenario->expectations) {
        const auto found = judge(expectation, results);
        findings.insert(findings.end(), found.begin(), found.end());
    }
    const bool all = std::all_of(findings.begin(), findings.end(),
                                 [](const Finding& finding) { return finding.holds; });
    if (command.json) {
        std::cout << json_of(results, findings).dump() << "\n";
        return all ? 0 : 1;
    }
    std::printf("\n");
    for (const Finding& finding : findings) {
        std::printf("%-4s %10.4f  %s\n", finding.holds ? "ok" : "FAIL", finding.figure,
                    finding.text.c_str());
    }
    return all ? 0 : 1;
}

}  // namespace

void add_run_commands(CLI::App& app, int& exit_code) {
    app.add_subcommand("list", "the named scenarios")->callback([&exit_code] {
        exit_code = list();
    });
    const auto made = std::make_shared<Command>();
    CLI::App* command = app.add_subcommand("run", "a named scenario, and what it must show");
    command->add_option("scenario", made->name, "one of `list`, or a file")->required();
    command->add_option("--seed", made->seed, "of every run, instead of the file's");
    command->add_option("--csv", made->csv, "the series of the runs, by bins of 100 ms");
    command->add_flag("--json", made->json, "measures and findings as one line of JSON");
    command->callback([made, &exit_code] { exit_code = run(*made); });
}

}  // namespace lambda::simulation
