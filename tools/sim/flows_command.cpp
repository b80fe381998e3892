#include "tools/sim/flows_command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tools/sim/flows.h"
#include "tools/sim/scenario.h"

namespace lambda::simulation {
namespace {

struct Flags {
    std::string capacity = "1Gbit/s", queue, duration = "60s";
    std::string jitter = "0s", lateness = "0s", noise = "0s", feedback_jitter = "0s";
    double loss = 0, burst = 1, drift_ppm = 0;
    std::uint64_t seed = 1;
    std::vector<std::string> flows, changes;
    std::string csv;
    bool json = false;
};

template <typename T>
T need(Result<T> parsed, const char* flag) {
    if (!parsed) throw CLI::ValidationError(flag, parsed.error().sentence());
    return std::move(*parsed);
}

// "12.5MB", or "1BDP" at the mean round trip of the flows.
double queue_bytes(const std::string& text, const FlowsScenario& scenario) {
    if (text.ends_with("BDP")) {
        double rtt = 0;
        for (const FlowSettings& flow : scenario.flows) rtt += seconds(flow.rtt);
        rtt /= static_cast<double>(scenario.flows.size());
        try {
            return std::stod(text) * rtt * scenario.capacity.bytes_per_second();
        } catch (const std::logic_error&) {
            throw CLI::ValidationError("--queue", text + " is no number of BDP");
        }
    }
    return static_cast<double>(need(parse_size(text), "--queue"));
}

FlowsScenario scenario_of(const Flags& flags) {
    FlowsScenario scenario;
    scenario.capacity = need(parse_rate(flags.capacity), "--capacity");
    scenario.duration = need(parse_duration(flags.duration), "--duration");
    scenario.jitter = need(parse_duration(flags.jitter), "--jitter");
    scenario.lateness = need(parse_duration(flags.lateness), "--lateness");
    scenario.stamp_noise = need(parse_duration(flags.noise), "--noise");
    scenario.feedback_jitter = need(parse_duration(flags.feedback_jitter), "--feedback-jitter");
    scenario.loss = flags.loss;
    scenario.burst = flags.burst;
    scenario.clock_drift = flags.drift_ppm * 1e-6;
    scenario.seed = flags.seed;
    for (const std::string& text : flags.flows) {
        const auto flows = need(parse_flow(text), "--flow");
        scenario.flows.insert(scenario.flows.end(), flows.begin(), flows.end());
    }
    for (const std::string& text : flags.changes)
        scenario.changes.push_back(need(parse_change(text), "--at"));
    scenario.queue_bytes = queue_bytes(flags.queue, scenario);
    return scenario;
}

double rounded(double value) {
    return std::round(value * 1e4) / 1e4;
}

nlohmann::ordered_json json_of(const FlowsResult& result) {
    nlohmann::ordered_json told;
    for (const FlowResult& flow : result.flows) {
        told["flows"].push_back({{"law", flow.law},
                                 {"mean_mbit", rounded(flow.mean_mbit)},
                                 {"cov", rounded(flow.cov)},
                                 {"lost_packets", flow.lost_packets},
                                 {"sent_packets", flow.sent_packets},
                                 {"stripes_jain", rounded(flow.stripes_jain)},
                                 {"reached_ms", rounded(flow.reached_ms)}});
    }
    told["sum_mbit"] = rounded(result.sum_mbit);
    told["sum_cov"] = rounded(result.sum_cov);
    told["utilisation"] = rounded(result.utilisation);
    told["jain"] = rounded(result.jain);
    told["queue_mean_bytes"] = rounded(result.queue_mean_bytes);
    told["queue_p10_bytes"] = rounded(result.queue_p10_bytes);
    told["correlation"] = rounded(result.correlation);
    return told;
}

void print(const FlowsResult& result) {
    std::printf("%-12s %10s %8s %10s %10s\n", "law", "Mbit/s", "CoV", "lost", "sent");
    for (const FlowResult& flow : result.flows) {
        std::printf("%-12s %10.1f %8.3f %10llu %10llu\n", flow.law.c_str(), flow.mean_mbit,
                    flow.cov, static_cast<unsigned long long>(flow.lost_packets),
                    static_cast<unsigned long long>(flow.sent_packets));
    }
    std::printf("sum %.1f Mbit/s (CoV %.3f), utilisation %.4f, Jain %.4f, correlation %.2f\n",
                result.sum_mbit, result.sum_cov, result.utilisation, result.jain,
                result.correlation);
    std::printf("queue: mean %.0f bytes, standing %.0f bytes\n", result.queue_mean_bytes,
                result.queue_p10_bytes);
}

bool write_csv(const FlowsResult& result, const std::string& path) {
    std::ofstream out(path);
    out << "seconds,queue_ms";
    for (std::size_t i = 0; i < result.flows.size(); ++i)
        out << ",mbit_" << i + 1 << ",rtt_ms_" << i + 1;
    out << "\n";
    for (std::size_t bin = 0; bin < result.queue_ms.size(); ++bin) {
        out << rounded(seconds(kBin) * static_cast<double>(bin + 1)) << "," << result.queue_ms[bin];
        for (const FlowResult& flow : result.flows)
            out << "," << flow.mbit[bin] << "," << flow.rtt_ms[bin];
        out << "\n";
    }
    return static_cast<bool>(out.flush());
}

int run(const Flags& flags) {
    const FlowsResult result = run_flows(scenario_of(flags));
    if (!flags.csv.empty() && !write_csv(result, flags.csv)) {
        std::cerr << "lambda-sim: cannot write " << flags.csv << "\n";
        return 1;
    }
    if (flags.json) {
        std::cout << json_of(result).dump() << "\n";
    } else {
        print(result);
    }
    return 0;
}

}  // namespace

void add_flows_command(CLI::App& app, int& exit_code) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* command = app.add_subcommand("flows", "transfers that share one bottleneck");
    command->add_option("--capacity", flags->capacity, "of the bottleneck");
    command->add_option("--queue", flags->queue, "drop-tail: bytes, or e.g. 0.5BDP")
        ->default_val("1BDP");
    command->add_option("--duration", flags->duration);
    command->add_option("--loss", flags->loss, "share of packets lost at random")
        ->check(CLI::Range(0.0, 0.99));
    command->add_option("--burst", flags->burst, "mean length of a run of losses")
        ->check(CLI::Range(1.0, 1000.0));
    command->add_option("--jitter", flags->jitter, "of each packet, uniform, order kept");
    command->add_option("--lateness", flags->lateness, "of the receivers' wake-ups, uniform");
    command->add_option("--noise", flags->noise, "of the receivers' times of arrival, uniform");
    command->add_option("--drift", flags->drift_ppm, "of the receivers' clocks, ppm")
        ->check(CLI::Range(-1000.0, 1000.0));
    command->add_option("--feedback-jitter", flags->feedback_jitter, "uniform, order kept");
    command->add_option("--seed", flags->seed);
    command
        ->add_option("--flow", flags->flows,
                     "law=NAME,rtt=..,initial=..,highest=..,stripes=N,syn=..,start=..,access=..,"
                     "count=N")
        ->required()
        ->allow_extra_args(false);
    command->add_option("--at", flags->changes, "TIME,capacity=..,rtt=..,loss=..")
        ->allow_extra_args(false);
    command->add_option("--csv", flags->csv, "the series, by bins of 100 ms");
    command->add_flag("--json", flags->json, "measures as one line of JSON");
    command->callback([flags, &exit_code] { exit_code = run(*flags); });
}

}  // namespace lambda::simulation
