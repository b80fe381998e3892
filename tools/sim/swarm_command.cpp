#include "tools/sim/swarm_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

#include "tools/sim/swarm.h"

namespace lambda::simulation {
namespace {

struct Flags {
    std::string seeds = "1..100", plant;
    unsigned jobs = 1;
    bool verbose = false;
};

struct Seeds {
    std::uint64_t first = 0, last = 0;
};

// "A..B", or "A" alone.
Seeds parse_seeds(const std::string& text) {
    const auto number = [&](std::string_view part) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (error != std::errc{} || end != part.data() + part.size() || part.empty())
            throw CLI::ValidationError("--seeds", text + " is no range of seeds such as 1..100");
        return value;
    };
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) return {number(text), number(text)};
    const Seeds seeds{number(std::string_view(text).substr(0, dots)),
                      number(std::string_view(text).substr(dots + 2))};
    if (seeds.last < seeds.first || seeds.last == UINT64_MAX)
        throw CLI::ValidationError("--seeds", text + " is an empty range, or too long");
    return seeds;
}

thread_local std::uint64_t present_seed = 0;

// A failed assertion ends the program: say at least where. Async-signal-safe.
extern "C" void tell_seed(int signal) {
    char text[64] = "seed ";
    const auto [end, error] = std::to_chars(text + 5, text + 48, present_seed);
    *end = '\n';
    static_cast<void>(!write(STDERR_FILENO, text, static_cast<std::size_t>(end + 1 - text)));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

int run(const Flags& flags) {
    const Seeds seeds = parse_seeds(flags.seeds);
    std::optional<Plant> plant;
    if (!flags.plant.empty()) {
        plant = parse_plant(flags.plant);
        if (!plant) {
            throw CLI::ValidationError(
                "--plant", flags.plant + " is not known; choose one of " + plant_names());
        }
    }
    std::signal(SIGABRT, tell_seed);
    std::signal(SIGSEGV, tell_seed);

    std::atomic<std::uint64_t> next = seeds.first;
    std::mutex mutex;  // guards what follows, and the output
    std::map<std::string, std::uint64_t> faults;
    std::uint64_t failed = 0, passed = 0;
    const auto work = [&] {
        for (std::uint64_t seed = next++; seed <= seeds.last; seed = next++) {
            present_seed = seed;
            const SwarmResult result = run_swarm(seed, plant);
            const std::lock_guard guard(mutex);
            for (const auto& [kind, count] : result.faults) faults[kind] += count;
            const auto number = static_cast<unsigned long long>(seed);
            if (flags.verbose) std::printf("seed %llu\n%s", number, result.story.c_str());
            if (result.wrong.empty()) {
                ++passed;
                continue;
            }
            ++failed;
            if (plant) next = seeds.last + 1;  // one is enough
            std::printf("seed %llu FAILED\n", number);
            for (const std::string& what : result.wrong) std::printf("  %s\n", what.c_str());
            std::printf("  repeat: lambda-sim swarm --seeds %llu..%llu%s%s -v\n", number, number,
                        flags.plant.empty() ? "" : " --plant ", flags.plant.c_str());
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < flags.jobs; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();

    std::printf("injected:\n");
    for (const auto& [kind, count] : faults) {
        if (count > 0)
            std::printf("%12llu  %s\n", static_cast<unsigned long long>(count), kind.c_str());
    }
    std::printf("seeds %llu..%llu: %llu passed, %llu failed\n",
                static_cast<unsigned long long>(seeds.first),
                static_cast<unsigned long long>(seeds.last),
                static_cast<unsigned long long>(passed), static_cast<unsigned long long>(failed));
    return failed == 0 ? 0 : 1;
}

}  // namespace

void add_swarm_command(CLI::App& app, int& exit_code) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* command = app.add_subcommand(
        "swarm",
        "whole transfers with faults drawn from a seed, and a check of all they must keep");
    command->add_option("--seeds", flags->seeds, "A..B")->capture_default_str();
    command->add_option("--jobs", flags->jobs, "threads")
        ->check(CLI::Range(1u, 256u).description(""))
        ->type_name("1..256")
        ->capture_default_str();
    command->add_option(
        "--plant", flags->plant,
        std::string("break a port, and stop at the seed that finds it: ") + plant_names());
    command->add_flag("-v,--verbose", flags->verbose, "what was drawn and what became of it");
    command->callback([flags, &exit_code] { exit_code = run(*flags); });
}

}  // namespace lambda::simulation
