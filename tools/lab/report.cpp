#include "tools/lab/report.h"

#include <algorithm>

namespace lambda::lab {
namespace {

using report::fixed;

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

// A chart of both directions; figure(step, seconds that it lasted).
template <typename Figure>
report::Chart chart(const char* title, const char* unit, const std::vector<Reading>& readings,
                    Figure figure) {
    report::Chart made{.title = title, .unit = unit, .seconds = {}, .lines = {}};
    for (const Reading& reading : readings) made.seconds.push_back(reading.seconds);
    const auto add = [&](const char* name, LinkCounters Reading::*direction) {
        report::Line& line = made.lines.emplace_back(name);
        Reading before;
        for (const Reading& now : readings) {
            line.values.push_back(
                figure(step_between(before, now, direction), now.seconds - before.seconds));
            before = now;
        }
    };
    add("forward", &Reading::forward);
    add("backward", &Reading::backward);
    return made;
}

}  // namespace

report::Page page_of(const Outcome& outcome, const std::string& path, const std::string& command) {
    const std::vector<Reading>& readings = outcome.readings;
    const auto packets = [&](const char* title, std::uint64_t Step::*count) {
        return chart(title, "packets/s", readings, [count](const Step& step, double seconds) {
            return static_cast<double>(step.*count) / seconds;
        });
    };
    report::Section section;
    section.text = path;
    section.tables = {directions_table(outcome.counters), lab_table(outcome)};
    section.charts = {
        chart("Rate", "Mbit/s", readings, [](const Step& step, double) { return step.mbit; }),
        chart("Utilisation of the bottleneck", "%", readings,
              [](const Step& step, double) { return step.utilisation * 100; }),
        chart("Queue at the bottleneck, mean", "kB", readings,
              [](const Step& step, double) { return step.queue_mean_bytes / 1e3; }),
        packets("Dropped by the full queue", &Step::dropped),
        packets("Lost at random", &Step::lost),
        packets("Lost on the dead path", &Step::dead)};
    section.charts[1].top = 100;
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
