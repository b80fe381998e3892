#include "tools/lab/flow_lines.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/jain.h"

namespace lambda::lab {
namespace {

using report::fixed;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// Of shorter rates the index is mostly noise. A little less than 1 s: readings may come late.
constexpr double kFairnessSeconds = 0.95;

struct Carried {
    LinkCounters Reading::*direction = nullptr;
    std::size_t number = FlowTable::kOthers;
    Flow flow;  // of the others: none
    std::string name;
    std::uint64_t bytes = 0;  // up to the last reading

    std::uint64_t bytes_at(const Reading& reading) const {
        const auto& all = (reading.*direction).flow_bytes;
        return number < all.size() ? all[number] : 0;
    }
};

// Of both directions, all that carried anything.
std::vector<Carried> all_flows(const Outcome& outcome) {
    std::vector<Carried> flows;
    if (outcome.readings.empty()) return flows;
    const auto add = [&](Carried flow) {
        flow.bytes = flow.bytes_at(outcome.readings.back());
        if (flow.bytes > 0) flows.push_back(std::move(flow));
    };
    const auto add_all = [&](LinkCounters Reading::*direction, const std::vector<Flow>& known,
                             const char* others) {
        for (std::size_t i = 0; i < known.size(); ++i)
            add({.direction = direction,
                 .number = i + 1,
                 .flow = known[i],
                 .name = flow_name(known[i])});
        add({.direction = direction, .flow = {}, .name = others});
    };
    add_all(&Reading::forward, outcome.forward_flows, "all others, forward");
    add_all(&Reading::backward, outcome.backward_flows, "all others, backward");
    return flows;
}

std::vector<Carried> data_flows(const Outcome& outcome) {
    const std::vector<Carried> all = all_flows(outcome);
    std::uint64_t most = 0;
    for (const Carried& flow : all) most = std::max(most, flow.bytes);
    const auto answers = [&all](const Carried& flow) {
        return std::any_of(all.begin(), all.end(), [&flow](const Carried& other) {
            return other.direction != flow.direction && other.number != FlowTable::kOthers &&
                   other.flow == flow.flow.answer() && other.bytes / 10 > flow.bytes;
        });
    };
    std::vector<Carried> flows;
    for (const Carried& flow : all)
        if (flow.bytes >= most / 100 && !answers(flow)) flows.push_back(flow);
    return flows;
}

// Between the two readings; where fewer than two flows were under way, none.
double fairness(const std::vector<Carried>& flows, const Reading& begin, const Reading& before,
                const Reading& end) {
    std::vector<double> rates;
    for (const Carried& flow : flows) {
        const std::uint64_t from = flow.bytes_at(begin);
        if (from == 0 || flow.bytes_at(before) == flow.bytes) continue;
        rates.push_back(static_cast<double>(flow.bytes_at(end) - from));
    }
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    return rates.size() > 1 && sum > 0 ? jain(rates) : kNone;
}

report::Line fairness_line(const char* name, const std::vector<Reading>& readings,
                           const std::vector<Carried>& flows) {
    report::Line line{name, std::vector<double>(readings.size(), kNone)};
    std::size_t begin = 0;
    for (std::size_t end = 1; end < readings.size(); ++end) {
        const auto lasts = [&](std::size_t from) {
            return readings[end].seconds - readings[from].seconds >= kFairnessSeconds;
        };
        while (lasts(begin + 1)) ++begin;
        if (lasts(begin))
            line.values[end] = fairness(flows, readings[begin], readings[end - 1], readings[end]);
    }
    return line;
}

}  // namespace

report::Table flows_table(const Outcome& outcome) {
    report::Table table{.head = {"flow", "Mbit/s", "of its direction, %"}, .rows = {}};
    std::vector<Carried> flows = all_flows(outcome);
    std::stable_sort(flows.begin(), flows.end(),
                     [](const Carried& a, const Carried& b) { return a.bytes > b.bytes; });
    for (const Carried& flow : flows) {
        const Reading& last = outcome.readings.back();
        const auto bytes = static_cast<double>(flow.bytes);
        const auto whole = static_cast<double>((last.*flow.direction).passed_bytes);
        table.rows.push_back(
            {flow.name, fixed(bytes * 8e-6 / last.seconds, 3), fixed(bytes / whole * 100, 2)});
    }
    return table;
}

std::vector<report::Line> flow_rates(const Outcome& outcome) {
    std::vector<report::Line> lines;
    for (const Carried& flow : data_flows(outcome)) {
        report::Line& line = lines.emplace_back(flow.name);
        std::uint64_t bytes = 0;
        double seconds = 0;
        for (const Reading& now : outcome.readings) {
            const std::uint64_t more = flow.bytes_at(now) - bytes;
            line.values.push_back(static_cast<double>(more) * 8e-6 / (now.seconds - seconds));
            bytes += more;
            seconds = now.seconds;
        }
    }
    return lines;
}

std::vector<report::Line> flow_fairness(const Outcome& outcome) {
    std::vector<Carried> flows = data_flows(outcome);
    std::erase_if(flows, [](const Carried& flow) { return flow.number == FlowTable::kOthers; });
    const auto backward = std::stable_partition(
        flows.begin(), flows.end(),
        [](const Carried& flow) { return flow.direction == &Reading::forward; });
    return {fairness_line("forward", outcome.readings, {flows.begin(), backward}),
            fairness_line("backward", outcome.readings, {backward, flows.end()})};
}

}  // namespace lambda::lab
