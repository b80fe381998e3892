#include "tools/sim/expectation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "common/sabul/congestion/registry.h"
#include "tools/sim/flags.h"

namespace lambda::simulation {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct RunMetric {
    std::string_view name;
    double FlowsResult::*value;
};
constexpr std::array kRunMetrics{RunMetric{"sum_mbit", &FlowsResult::sum_mbit},
                                 RunMetric{"sum_cov", &FlowsResult::sum_cov},
                                 RunMetric{"utilisation", &FlowsResult::utilisation},
                                 RunMetric{"jain", &FlowsResult::jain},
                                 RunMetric{"correlation", &FlowsResult::correlation},
                                 RunMetric{"queue_mean_bytes", &FlowsResult::queue_mean_bytes},
                                 RunMetric{"queue_p10_bytes", &FlowsResult::queue_p10_bytes}};

struct FlowField {
    std::string_view name;
    double (*value)(const FlowResult&);
};
constexpr std::array kFlowFields{
    FlowField{"mean_mbit", [](const FlowResult& flow) { return flow.mean_mbit; }},
    FlowField{"cov", [](const FlowResult& flow) { return flow.cov; }},
    FlowField{"lost_packets",
              [](const FlowResult& flow) { return static_cast<double>(flow.lost_packets); }},
    FlowField{"sent_packets",
              [](const FlowResult& flow) { return static_cast<double>(flow.sent_packets); }},
    FlowField{"stripes_jain", [](const FlowResult& flow) { return flow.stripes_jain; }},
    FlowField{"reached_ms", [](const FlowResult& flow) { return flow.reached_ms; }},
    FlowField{"rtt_ms", [](const FlowResult& flow) -> double {
                  return flow.rtt_ms.empty() ? kNone : flow.rtt_ms.back();
              }}};

template <typename Table>
auto find(const Table& table, std::string_view name) {
    return std::find_if(table.begin(), table.end(),
                        [name](const auto& entry) { return entry.name == name; });
}

Error wrong(const std::string& word, const std::string& what) {
    return Error{.fault = Fault::usage,
                 .message = "\"" + word + "\" " + what,
                 .path = {},
                 .side = Side::local,
                 .remedy = {}};
}

// "flows[2]" and others of its kind to 2.
bool parse_index(const std::string& who, std::size_t& index) {
    if (!who.starts_with("flows[") || !who.ends_with("]")) return false;
    const char* begin = who.data() + 6;
    const char* last = who.data() + who.size() - 1;
    const auto [end, error] = std::from_chars(begin, last, index);
    return error == std::errc{} && end == last;
}

Result<Value> parse_value(std::string text, const std::vector<std::string>& runs) {
    const std::string word = text;
    Value value;
    if (const auto colon = text.find(':'); colon != std::string::npos) {
        value.run = text.substr(0, colon);
        text.erase(0, colon + 1);
        if (std::find(runs.begin(), runs.end(), value.run) == runs.end())
            return wrong(word, "names a run that there is not");
    }
    const auto dot = text.find('.');
    value.metric = text.substr(0, dot);
    if (dot == std::string::npos) {
        if (find(kRunMetrics, value.metric) == kRunMetrics.end())
            return wrong(word, "is no metric of a run");
        return value;
    }
    value.field = text.substr(dot + 1);
    if (find(kFlowFields, value.field) == kFlowFields.end())
        return wrong(word, "is no metric of a flow");
    if (parse_index(value.metric, value.index)) {
        value.metric = "flows";
    } else if (const auto laws = sabul::law_names();
               value.metric != "min" && value.metric != "max" &&
               std::find(laws.begin(), laws.end(), value.metric) == laws.end()) {
        return wrong(word, "has neither flows[N], min, max nor a law before the dot");
    }
    return value;
}

// "in LOW..HIGH", ">= X" or "<= X", the last two words.
Result<void> parse_bounds(const std::string& how, const std::string& text, Expectation& into) {
    const auto dots = text.find("..");
    const bool both = how == "in";
    if (both && dots == std::string::npos) return wrong(text, "is no LOW..HIGH");
    const auto first = parse_number(both ? text.substr(0, dots) : text);
    if (!first) return first.error();
    const auto second = parse_number(both ? text.substr(dots + 2) : text);
    if (!second) return second.error();
    if (*first > *second) return wrong(text, "has a low bound above its high one");
    into.low = how == "<=" ? -kInfinity : *first;
    into.high = how == ">=" ? kInfinity : *second;
    return {};
}

double figure_of(const Value& value, const FlowsResult& result) {
    if (value.field.empty()) return result.*find(kRunMetrics, value.metric)->value;
    const auto field = find(kFlowFields, value.field)->value;
    if (value.metric == "flows")
        return value.index < result.flows.size() ? field(result.flows[value.index]) : kNone;
    std::vector<double> figures;
    double sum = 0;
    for (const FlowResult& flow : result.flows) {
        if (value.metric != "min" && value.metric != "max" && value.metric != flow.law) continue;
        figures.push_back(field(flow));
        sum += figures.back();
    }
    if (figures.empty()) return kNone;
    if (value.metric == "min") return *std::min_element(figures.begin(), figures.end());
    if (value.metric == "max") return *std::max_element(figures.begin(), figures.end());
    return sum / static_cast<double>(figures.size());
}

const FlowsResult& result_of(const std::string& name, std::span<const RunResult> runs) {
    const auto run = std::find_if(runs.begin(), runs.end(),
                                  [&name](const RunResult& one) { return one.name == name; });
    LAMBDA_ASSERT(run != runs.end());
    return run->result;
}

// Ranks from 0, the highest first; equal figures share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& figures) {
    std::vector<double> ranks;
    for (const double one : figures) {
        double above = 0, equal = 0;
        for (const double other : figures) {
            above += other > one ? 1 : 0;
            equal += other == one ? 1 : 0;
        }
        ranks.push_back(above + (equal - 1) / 2);
    }
    return ranks;
}

double rank_correlation(const std::vector<double>& figures) {
    const std::vector<double> ranks = ranks_of(figures);
    const double mean = (static_cast<double>(figures.size()) - 1) / 2;
    double product = 0, own = 0, ideal = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const double expected = static_cast<double>(i) - mean;
        product += (ranks[i] - mean) * expected;
        own += (ranks[i] - mean) * (ranks[i] - mean);
        ideal += expected * expected;
    }
    return own > 0 ? product / std::sqrt(own * ideal) : 0;
}

}  // namespace

Result<Expectation> parse_expectation(const std::string& text,
                                      const std::vector<std::string>& runs) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; stream >> word;) words.push_back(word);
    Expectation made{.text = text, .values = {}, .is_rank = false, .low = 0, .high = 0};
    if (words.size() < 3) return wrong(text, "is no expectation");
    const std::string how = words[words.size() - 2];
    if (how != "in" && how != ">=" && how != "<=") return wrong(how, "is not in, >= or <=");
    if (const auto bounds = parse_bounds(how, words.back(), made); !bounds) return bounds.error();
    words.resize(words.size() - 2);
    std::vector<std::string> values;
    if (words[0] == "rank") {
        if (words.size() < 4) return wrong(text, "ranks fewer than two runs");
        made.is_rank = true;
        for (std::size_t i = 2; i < words.size(); ++i) values.push_back(words[i] + ":" + words[1]);
    } else if (words.size() == 1 || (words.size() == 3 && words[1] == "/")) {
        values.push_back(words.front());
        if (words.size() == 3) values.push_back(words.back());
    } else {
        return wrong(text, "is no expectation");
    }
    for (const std::string& word : values) {
        auto value = parse_value(word, runs);
        if (!value) return value.error();
        made.values.push_back(std::move(*value));
    }
    return made;
}

std::vector<Finding> judge(const Expectation& expectation, std::span<const RunResult> runs) {
    const auto finding = [&expectation](std::string text, double figure) {
        return Finding{.text = std::move(text),
                       .figure = figure,
                       .holds = figure >= expectation.low && figure <= expectation.high};
    };
    if (expectation.is_rank) {
        std::vector<double> figures;
        for (const Value& value : expectation.values)
            figures.push_back(figure_of(value, result_of(value.run, runs)));
        return {finding(expectation.text, rank_correlation(figures))};
    }
    const bool each = std::any_of(expectation.values.begin(), expectation.values.end(),
                                  [](const Value& value) { return value.run.empty(); });
    std::vector<Finding> findings;
    for (const RunResult& run : runs) {
        std::vector<double> figures;
        for (const Value& value : expectation.values) {
            figures.push_back(
                figure_of(value, value.run.empty() ? run.result : result_of(value.run, runs)));
        }
        const double figure = figures.size() == 2 ? figures[0] / figures[1] : figures[0];
        const bool several = each && runs.size() > 1;
        findings.push_back(
            finding(several ? run.name + ": " + expectation.text : expectation.text, figure));
        if (!each) break;
    }
    return findings;
}

}  // namespace lambda::simulation
