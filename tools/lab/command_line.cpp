#include "tools/lab/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/base/units.h"
#include "common/report/outputs.h"
#include "config/option_values.h"
#include "tools/lab/lab.h"
#include "tools/lab/path_file.h"
#include "tools/lab/path_flags.h"
#include "tools/lab/report.h"

namespace lambda::lab {
namespace {

constexpr int kUsage = 2, kUnable = 3;

struct Words {
    std::string path_file;
    PathFlags flags;
    std::vector<std::pair<std::string, std::string>> on, ready;
    std::string in, logs, json, series, report, memory = "1GiB", ready_within, turn = "100us",
                                                offload = "udp";
    std::optional<std::uint64_t> seed;
    std::vector<std::string> command;
    std::string all;  // the whole command line
};

Error usage_error(std::string message) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = {}};
}

int fail(const Error& error) {
    std::cerr << "lambda-lab: " << error.sentence() << "\n";
    return error.fault == Fault::usage ? kUsage : kUnable;
}

// The exit code of what is done once it is told.
int end_of_output() {
    if (std::cout.flush()) return 0;
    std::cerr << "lambda-lab: cannot write to standard output\n";
    return kUnable;
}

void add_path_options(CLI::App& app, Words& words) {
    const auto option = [&](const char* name, std::optional<std::string>& to, const char* text) {
        app.add_option(name, to, text);
    };
    app.add_option("PATH", words.path_file, "The path, YAML; none: client and server at 1 Gbit/s");
    option("--rate", words.flags.rate, "Of the bottleneck: 1Gbit/s");
    option("--rtt", words.flags.rtt, "Round trip between any two hosts: 100ms");
    option("--queue", words.flags.queue, "1BDP or bytes: 12.5MB");
    option("--loss", words.flags.loss, "1e-3 or 0.1%");
    option("--loss-burst", words.flags.loss_burst, "Mean packets lost in a row");
    option("--duplicate", words.flags.duplicate, "1e-3 or 0.1%");
    option("--reorder", words.flags.reorder, "1e-3 or 0.1%");
    option("--reorder-by", words.flags.reorder_by, "How long these are held back: 1ms");
    option("--jitter", words.flags.jitter, "Up to so much more delay: 2ms");
    option("--mtu", words.flags.mtu, "Longer packets vanish: 1400");
    option("--congestion", words.flags.congestion, "The kernel's TCP in every host: bbr");
}

Result<PathSpec> path_of(const Words& words) {
    PathSpec path = plain_path();
    if (!words.path_file.empty()) {
        auto loaded = load_path(words.path_file);
        if (!loaded) return loaded.error();
        path = std::move(*loaded);
    }
    return with_flags(std::move(path), words.flags);
}

Result<std::size_t> host_called(const PathSpec& path, const std::string& name) {
    for (std::size_t i = 0; i < path.hosts.size(); ++i) {
        if (path.hosts[i].name == name) return i;
    }
    return usage_error("the path has no host '" + name + "'");
}

// `client` where there is one, or else the first.
Result<std::size_t> main_host(const PathSpec& path, const std::string& asked) {
    if (!asked.empty()) return host_called(path, asked);
    const auto usual = host_called(path, "client");
    return usual ? *usual : std::size_t{0};
}

// The background commands' outputs: files in the folder that was asked for, or in one that goes
// again where all went well.
class Logs {
  public:
    Result<void> make(const std::string& asked) {
        std::error_code problem;
        if (!asked.empty()) {
            folder_ = std::filesystem::absolute(asked, problem);
            std::filesystem::create_directories(folder_, problem);
            if (problem) {
                return errno_error(Fault::usage, "cannot make the folder", asked, problem.value());
            }
            return {};
        }
        std::string name = std::filesystem::temp_directory_path(problem) / "lambda-lab-XXXXXX";
        if (problem || ::mkdtemp(name.data()) == nullptr) {
            return errno_error(Fault::unsupported, "cannot make a folder for logs", name, errno);
        }
        folder_ = name;
        temporary_ = true;
        return {};
    }
    Background command(std::size_t host, const std::string& name, std::string shell) {
        const std::string stem = folder_ / (name + "-" + std::to_string(++numbers_[name]));
        return {.host = host,
                .shell = std::move(shell),
                .output = stem + ".out",
                .errors = stem + ".err"};
    }
    const std::string& folder() const { return folder_.native(); }
    void end(bool well) {
        if (!temporary_) return;
        std::error_code ignored;
        if (well) {
            std::filesystem::remove_all(folder_, ignored);
        } else {
            std::cerr << "lambda-lab: what the background commands wrote is in " << folder()
                      << "\n";
        }
    }

  private:
    std::filesystem::path folder_;
    bool temporary_ = false;
    std::map<std::string, int> numbers_;
};

Result<void> add_commands(const Words& words, const PathSpec& path, Logs& logs,
                          Household& household) {
    for (const auto& [name, shell] : words.on) {
        const auto host = host_called(path, name);
        if (!host) return host.error();
        household.background.push_back(logs.command(*host, name, shell));
    }
    for (const auto& [name, text] : words.ready) {
        const auto host = host_called(path, name);
        if (!host) return host.error();
        household.ready.push_back({*host, text});
    }
    if (!words.ready_within.empty()) {
        if (words.ready.empty()) return usage_error("--ready-within goes with --ready");
        const auto patience = parse_duration(words.ready_within);
        if (!patience) return patience.error();
        household.patience = *patience;
    }
    const auto host = main_host(path, words.in);
    if (!host) return host.error();
    household.main_host = *host;
    household.main = words.command;
    if (!words.on.empty()) household.environment.emplace_back("LAB_LOGS", logs.folder());
    return {};
}

Result<void> write_json(const Counters& counters, const std::string& file) {
    std::ofstream stream(file);
    stream << counters_json(counters);
    stream.close();
    if (!stream) return errno_error(Fault::file, "cannot write the counters", file, errno);
    return {};
}

// Of a run that has ended, whatever its end: the exit code.
int tell(const Words& words, const PathSpec& path, const Outcome& outcome, report::File& report) {
    std::cerr << counters_text(outcome.counters);
    if (!outcome.series) fail(outcome.series.error());
    Result<void> told;
    if (!words.json.empty()) told = write_json(outcome.counters, words.json);
    if (!told) fail(told.error());
    Result<void> drawn;
    if (report.wanted()) drawn = report.write(page_of(outcome, path, words.all));
    if (!drawn) fail(drawn.error());
    const bool written = outcome.series && told && drawn;
    return outcome.exit_code == 0 && !written ? kUnable : outcome.exit_code;
}

int run(const Words& words) {
    if (words.command.empty()) return fail(usage_error("no command; give it after --"));
    auto path = path_of(words);
    if (!path) return fail(path.error());
    const auto memory = parse_size(words.memory);
    if (!memory) return fail(memory.error());
    const auto turn = parse_duration(words.turn);
    if (!turn) return fail(turn.error());
    if (*turn > std::chrono::milliseconds(1)) {
        return fail(usage_error("--turn: at most 1ms, or the path is not what it says"));
    }
    Plan plan{.path = std::move(*path),
              .household = {},
              .seed = words.seed ? *words.seed : std::random_device{}(),
              .memory = *memory,
              .turn = *turn,
              .offload = words.offload == "none"  ? Offload::none
                         : words.offload == "tcp" ? Offload::tcp
                                                  : Offload::tcp_and_udp,
              .series = words.series,
              .keep_readings = !words.report.empty()};
    const PathSpec asked = plan.path;
    if (auto apart = report::check_apart(
            {{"--json", words.json}, {"--series", words.series}, {"--report", words.report}});
        !apart)
        return fail(apart.error());
    auto report = report::File::make(words.report);
    if (!report) return fail(report.error());
    Logs logs;
    if (!words.on.empty()) {
        if (auto made = logs.make(words.logs); !made) return fail(made.error());
    }
    if (auto added = add_commands(words, plan.path, logs, plan.household); !added) {
        logs.end(true);
        return fail(added.error());
    }
    const auto outcome = run_lab(std::move(plan));
    logs.end(outcome && outcome->exit_code == 0);
    if (!outcome) return fail(outcome.error());
    return tell(words, asked, *outcome, *report);
}

int check(const Words& words) {
    const auto path = path_of(words);
    if (!path) return fail(path.error());
    std::cout << path_text(*path);
    return end_of_output();
}

}  // namespace

int run_command_line(int count, char** all) {
    Words words;
    words.all = report::command_line(count, all);
    // What follows -- is not ours to understand.
    char** const end = all + count;
    char** const dashes =
        std::find_if(all, end, [](const char* word) { return std::string_view(word) == "--"; });
    if (dashes != end) words.command.assign(dashes + 1, end);

    CLI::App app("lambda-lab is a WAN on one machine, for whatever runs over TCP or UDP.",
                 "lambda-lab");
    app.set_version_flag("--version", "lambda-lab " LAMBDA_VERSION);
    app.require_subcommand(1);
    CLI::App* const runs = app.add_subcommand(
        "run", "Run commands in hosts of the path: run [PATH] [options] -- COMMAND...");
    add_path_options(*runs, words);
    runs->add_option("--on", words.on, "HOST COMMAND: by the shell, in the background; repeatable");
    runs->add_option(
        "--ready", words.ready,
        "HOST TEXT or HOST :PORT: the main command waits until that was written or is listened on");
    runs->add_option("--ready-within", words.ready_within, "... and give up after: 30s");
    runs->add_option("--in", words.in, "Host of the main command: client, or else the first");
    runs->add_option("--logs", words.logs, "Folder for what background commands write");
    runs->add_option("--json", words.json, "File for the counters");
    runs->add_option("--series", words.series, "File for both directions over time, CSV");
    runs->add_option("--report", words.report, "File for a page with tables and charts, HTML");
    runs->add_option("--seed", words.seed, "Of loss and the like; printed with the counters")
        ->check(config::wrong_with_number)
        ->type_name("NUMBER");
    runs->add_option("--memory", words.memory, "Most for packets on the way: 1GiB");
    runs->add_option("--turn", words.turn, "How often the lab looks while packets come: 100us");
    runs->add_option("--offload", words.offload, "What stays together between kernel and lab")
        ->check(CLI::IsMember({"udp", "tcp", "none"}).description(""))
        ->type_name("udp|tcp|none");
    CLI::App* const checks = app.add_subcommand("check", "Check a path and tell it in words");
    add_path_options(*checks, words);

    for (CLI::App* command : {runs, checks}) {
        for (CLI::Option* option : command->get_options())
            if (option->get_type_size() > 0) option->check(config::wrong_with_value);
    }
    if (auto checked = config::check_values({all, dashes}); !checked) return fail(checked.error());
    try {
        app.parse(static_cast<int>(dashes - all), all);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? end_of_output() : kUsage;
    }
    return checks->parsed() ? check(words) : run(words);
}

}  // namespace lambda::lab
