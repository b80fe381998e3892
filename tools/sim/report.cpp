#include "tools/sim/report.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/base/jain.h"
#include "tools/sim/statistics.h"

namespace lambda::simulation {
namespace {

using report::Chart;
using report::fixed;
using report::Line;
using report::significant;
using report::Table;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kFairnessBins = 10;  // 1 s: of shorter rates the index is mostly noise

Table path_table(const FlowsScenario& scenario) {
    return {.head = {"capacity, Mbit/s", "queue, kB", "loss", "in a row", "seconds",
                     "measured from, s", "seed"},
            .rows = {{significant(scenario.capacity.bits_per_second / 1e6, 6),
                      significant(scenario.queue_bytes / 1e3, 6), significant(scenario.loss, 4),
                      significant(scenario.burst, 4), significant(seconds(scenario.duration), 6),
                      significant(seconds(measured_from(scenario)), 6),
                      std::to_string(scenario.seed)}}};
}

Table sum_table(const FlowsResult& result) {
    return {
        .head = {"sum, Mbit/s", "CoV", "of the mean capacity, %", "Jain", "correlation",
                 "queue: mean, ms", "mean, kB", "standing, kB", "dropped"},
        .rows = {{fixed(result.sum_mbit, 1), fixed(result.sum_cov, 3),
                  fixed(result.utilisation * 100, 2), fixed(result.jain, 4),
                  fixed(result.correlation, 2), fixed(result.queue_mean_ms, 3),
                  fixed(result.queue_mean_bytes / 1e3, 1), fixed(result.queue_p10_bytes / 1e3, 1),
                  std::to_string(result.dropped_packets)}}};
}

Table flows_table(const FlowsScenario& scenario, const FlowsResult& result) {
    Table table{.head = {"flow", "law", "round trip, ms", "stripes", "begins, s", "Mbit/s", "CoV",
                         "lost", "of sent, %", "90 % after, ms"},
                .rows = {}};
    for (std::size_t i = 0; i < result.flows.size(); ++i) {
        const FlowSettings& asked = scenario.flows[i];
        const FlowResult& flow = result.flows[i];
        const auto sent = static_cast<double>(std::max<std::uint64_t>(flow.sent_packets, 1));
        table.rows.push_back(
            {std::to_string(i + 1), flow.law, significant(seconds(asked.rtt) * 1e3, 4),
             std::to_string(asked.stripes), significant(seconds(asked.start), 4),
             fixed(flow.mean_mbit, 1), fixed(flow.cov, 3), std::to_string(flow.lost_packets),
             significant(static_cast<double>(flow.lost_packets) / sent * 100, 3),
             flow.reached_ms < 0 ? "-" : fixed(flow.reached_ms, 0)});
    }
    return table;
}

double capacity_mbit(const FlowsScenario& scenario, Duration at) {
    BitRate capacity = scenario.capacity;
    Duration latest{0};
    for (const PathChange& change : scenario.changes) {
        if (!change.capacity || change.at > at || change.at < latest) continue;
        capacity = *change.capacity;
        latest = change.at;
    }
    return payload_mbit(capacity);
}

Line utilisation(const FlowsScenario& scenario, const FlowsResult& result) {
    Line line{"all flows", std::vector<double>(result.queue_ms.size())};
    for (std::size_t bin = 0; bin < line.values.size(); ++bin) {
        double sum = 0;
        for (const FlowResult& flow : result.flows) sum += static_cast<double>(flow.mbit[bin]);
        const Duration begin = kBin * static_cast<Duration::rep>(bin);
        line.values[bin] = sum / capacity_mbit(scenario, begin) * 100;
    }
    return line;
}

// Of the flows that have begun by then.
Line fairness(const FlowsScenario& scenario, const FlowsResult& result) {
    Line line{"Jain's index", std::vector<double>(result.queue_ms.size(), kNone)};
    for (std::size_t bin = kFairnessBins - 1; bin < line.values.size(); ++bin) {
        const std::size_t from = bin + 1 - kFairnessBins;
        std::vector<double> rates;
        for (std::size_t i = 0; i < result.flows.size(); ++i) {
            if (scenario.flows[i].start <= kBin * static_cast<Duration::rep>(from))
                rates.push_back(mean(std::span(result.flows[i].mbit).subspan(from, kFairnessBins)));
        }
        const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
        if (rates.size() > 1 && sum > 0) line.values[bin] = jain(rates);
    }
    return line;
}

}  // namespace

report::Section section_of(const std::string& title, const FlowsScenario& scenario,
                           const FlowsResult& result) {
    std::vector<double> ends(result.queue_ms.size());
    for (std::size_t bin = 0; bin < ends.size(); ++bin)
        ends[bin] = seconds(kBin) * static_cast<double>(bin + 1);
    const auto chart = [&ends](const char* name, const char* unit, std::vector<Line> lines) {
        return Chart{.title = name, .unit = unit, .seconds = ends, .lines = std::move(lines)};
    };
    // A line for each flow: figure(value of a bin).
    const auto each = [&](std::vector<float> FlowResult::*bins, auto figure) {
        std::vector<Line> lines;
        for (std::size_t i = 0; i < result.flows.size(); ++i) {
            const FlowResult& flow = result.flows[i];
            Line& line = lines.emplace_back(std::to_string(i + 1) + " " + flow.law + ", " +
                                            format_duration(scenario.flows[i].rtt));
            for (const float value : flow.*bins)
                line.values.push_back(figure(static_cast<double>(value)));
        }
        return lines;
    };
    const std::vector<double> queue(result.queue_ms.begin(), result.queue_ms.end());
    report::Section section{
        .title = title,
        .text = {},
        .tables = {path_table(scenario), sum_table(result), flows_table(scenario, result)},
        .charts = {}};
    section.charts = {
        chart("Rate of each flow", "Mbit/s",
              each(&FlowResult::mbit, [](double mbit) { return mbit; })),
        chart("Utilisation of the bottleneck", "% of its payload capacity",
              {utilisation(scenario, result)}),
        chart("Fairness of the rates over 1 s", "Jain's index", {fairness(scenario, result)}),
        chart("Loss of each flow", "packets/s",
              each(&FlowResult::lost, [](double lost) { return lost / seconds(kBin); })),
        chart("Queue at the bottleneck", "ms", {{"queue", queue}}),
        chart("Round trip of each flow, smoothed", "ms",
              each(&FlowResult::rtt_ms, [](double ms) { return ms > 0 ? ms : kNone; }))};
    section.charts[1].top = 100;
    section.charts[2].top = 1;
    return section;
}

}  // namespace lambda::simulation
