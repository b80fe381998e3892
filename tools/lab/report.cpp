#include "tools/lab/report.h"

#include <algorithm>
#include <utility>

#include "tools/lab/flow_lines.h"
#include "tools/lab/path_flags.h"

namespace lambda::lab {
namespace {

using report::fixed;

constexpr const char* kNotes =
    "\nA flow has a line where it has at least 1 % of the bytes of the largest, and is not the "
    "answer to one that has over ten times as many. The round trip is the path's own, whatever the "
    "hosts add: the delays and the mean wait in both queues at that time, without jitter.\n";

report::Table directions_table(const Counters& counters) {
    report::Table table{.head = {"direction", "packets", "Mbit/s", "of the rate, %", "dropped",
                                 "lost", "duplicated", "reordered", "dead", "too long",
                                 "queue: mean, ms", "p95, ms", "most, kB"},
                        .rows = {}};
    const auto add = [&](const char* name, const LinkCounters& link) {
        const double rate =
            static_cast<double>(link.passed_bytes) * 8e-6 / std::max(counters.seconds, 1e-9);
        std::vector<std::string> row{name, std::to_string(link.passed_packets), fixed(rate, 2),
                                     fixed(link.utilisation * 100, 2)};
        for (const std::uint64_t count :
             {link.dropped, link.lost, link.duplicated, link.reordered, link.dead, link.too_long}) {
            row.push_back(std::to_string(count));
        }
        for (const double figure :
             {link.queue.mean_ms, link.queue.p95_ms, link.queue.most_bytes / 1e3}) {
            row.push_back(fixed(figure, 3));
        }
        table.rows.push_back(std::move(row));
    };
    add("forward", counters.forward);
    add("backward", counters.backward);
    return table;
}

report::Table lab_table(const Outcome& outcome) {
    const Counters& counters = outcome.counters;
    return {.head = {"exit code", "seconds", "seed", "of a core, %", "late: p50, us", "p99, us",
                     "most, us"},
            .rows = {{std::to_string(outcome.exit_code), fixed(counters.seconds, 2),
                      std::to_string(counters.seed),
                      fixed(100 * counters.cpu_seconds / std::max(counters.seconds, 1e-9), 0),
                      fixed(counters.lateness.quantile_us(0.5), 0),
                      fixed(counters.lateness.quantile_us(0.99), 0),
                      fixed(counters.lateness.most_us(), 0)}}};
}

// A line for each direction; figure(step, seconds that it lasted).
template <typename Figure>
std::vector<report::Line> each_way(const std::vector<Reading>& readings, Figure figure) {
    const auto line = [&](const char* name, LinkCounters Reading::*direction) {
        report::Line made{name, {}};
        Reading before;
        for (const Reading& now : readings) {
            made.values.push_back(
                figure(step_between(before, now, direction), now.seconds - before.seconds));
            before = now;
        }
        return made;
    };
    return {line("forward", &Reading::forward), line("backward", &Reading::backward)};
}

// What a packet and its answer would meet; a line for the two hosts that are nearest to each other,
// and one for those that are farthest where that is more.
std::vector<report::Line> round_trips(const PathSpec& path, const std::vector<Reading>& readings) {
    std::vector<HostSpec> lefts, rights;
    for (const HostSpec& host : path.hosts)
        (host.end == End::left ? lefts : rights).push_back(host);
    const auto by_delay = [](const HostSpec& a, const HostSpec& b) { return a.delay < b.delay; };
    const auto left = std::minmax_element(lefts.begin(), lefts.end(), by_delay);
    const auto right = std::minmax_element(rights.begin(), rights.end(), by_delay);
    const auto waits =
        each_way(readings, [](const Step& step, double) { return step.queue_mean_ms; });

    std::vector<report::Line> lines;
    const auto add = [&](const HostSpec& one, const HostSpec& other) {
        report::Line& line = lines.emplace_back(one.name + " to " + other.name);
        for (std::size_t i = 0; i < readings.size(); ++i) {
            const Duration delays = readings[i].forward.delay + readings[i].backward.delay +
                                    2 * (one.delay + other.delay);
            line.values.push_back(seconds(delays) * 1e3 + waits[0].values[i] + waits[1].values[i]);
        }
    };
    add(*left.first, *right.first);
    if (left.first->delay + right.first->delay < left.second->delay + right.second->delay)
        add(*left.second, *right.second);
    return lines;
}

}  // namespace

report::Page page_of(const Outcome& outcome, const PathSpec& path, const std::string& command) {
    const std::vector<Reading>& readings = outcome.readings;
    std::vector<double> times;
    for (const Reading& reading : readings) times.push_back(reading.seconds);
    const auto chart = [&times](const char* title, const char* unit,
                                std::vector<report::Line> lines) {
        return report::Chart{
            .title = title, .unit = unit, .seconds = times, .lines = std::move(lines)};
    };
    const auto packets = [&](const char* title, std::uint64_t Step::*count) {
        return chart(title, "packets/s", each_way(readings, [count](const Step& step, double time) {
                         return static_cast<double>(step.*count) / time;
                     }));
    };
    const auto of_step = [&](double Step::*figure, double scale) {
        return each_way(readings, [=](const Step& step, double) { return step.*figure * scale; });
    };
    report::Section section;
    section.text = path_text(path) + kNotes;
    section.tables = {directions_table(outcome.counters), flows_table(outcome), lab_table(outcome)};
    section.charts = {
        chart("Rate of each flow", "Mbit/s", flow_rates(outcome)),
        chart("Rate of each direction", "Mbit/s", of_step(&Step::mbit, 1)),
        chart("Utilisation of the bottleneck", "%", of_step(&Step::utilisation, 100)),
        chart("Fairness of the rates over 1 s", "Jain's index", flow_fairness(outcome)),
        packets("Dropped by the full queue", &Step::dropped),
        packets("Lost at random", &Step::lost),
        packets("Lost on the dead path", &Step::dead),
        chart("Queue at the bottleneck, mean", "kB", of_step(&Step::queue_mean_bytes, 1e-3)),
        chart("Round trip of the path", "ms", round_trips(path, readings))};
    section.charts[2].top = 100;
    section.charts[3].top = 1;
    return {
        .title = "A run of lambda-lab",
        .text = outcome.counters.strained()
                    ? "The path was not as asked for: the machine was too slow, or packets were "
                      "refused. Throw this measurement away."
                    : "",
        .command = command,
        .sections = {std::move(section)}};
}

}  // namespace lambda::lab
