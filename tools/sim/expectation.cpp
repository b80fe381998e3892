#include "tools/sim/expectation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "common/sabul/congestion/registry.h"
#include "tools/sim/flags.h"
#include "tools/sim/statistics.h"

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
                                 RunMetric{"spread", &FlowsResult::spread},
                                 RunMetric{"correlation", &FlowsResult::correlation},
                                 RunMetric{"queue_mean_bytes", &FlowsResult::queue_mean_bytes},
                                 RunMetric{"queue_mean_ms", &FlowsResult::queue_mean_ms},
                                 RunMetric{"queue_p10_bytes", &FlowsResult::queue_p10_bytes},
                                 RunMetric{"queue_p10_bdp", &FlowsResult::queue_p10_bdp},
                                 RunMetric{"settled_ms", &FlowsResult::settled_ms},
                                 RunMetric{"sent_settled_ms", &FlowsResult::sent_settled_ms}};

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
    FlowField{"rtt_ms",
              [](const FlowResult& flow) -> double {
                  return flow.rtt_ms.empty() ? kNone : flow.rtt_ms.back();
              }},
    FlowField{"rtt_settled_ms", [](const FlowResult& flow) { return flow.rtt_settled_ms; }}};

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

bool asks_several(const std::string& pattern) {
    return pattern.empty() || pattern.ends_with('*');
}

// How the names begin that a pattern for several stands for.
std::string beginning_of(const std::string& pattern) {
    return pattern.substr(0, pattern.rfind('*'));
}

// Whether a value of `pattern` is asked of the run of this name.
bool asks(const std::string& pattern, const std::string& name) {
    return asks_several(pattern) ? name.starts_with(beginning_of(pattern)) : pattern == name;
}

Result<Value> parse_value(std::string text, const std::vector<std::string>& runs) {
    const std::string word = text;
    Value value;
    if (const auto colon = text.find(':'); colon != std::string::npos) {
        value.run = text.substr(0, colon);
        text.erase(0, colon + 1);
    }
    if (std::none_of(runs.begin(), runs.end(),
                     [&](const std::string& name) { return asks(value.run, name); }))
        return wrong(word, "names a run that there is not");
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

// Spearman's: Pearson's of the ranks.
double rank_correlation(const std::vector<double>& figures, const std::vector<double>& others) {
    const std::vector<double> a = ranks_of(figures), b = ranks_of(others);
    const double mean = (static_cast<double>(a.size()) - 1) / 2;
    double product = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        product += (a[i] - mean) * (b[i] - mean);
        of_a += (a[i] - mean) * (a[i] - mean);
        of_b += (b[i] - mean) * (b[i] - mean);
    }
    return of_a > 0 && of_b > 0 ? product / std::sqrt(of_a * of_b) : 0;
}

double deviation_of(const FlowsResult& one, const FlowsResult& other) {
    const auto measured = [](const FlowsResult& result, const std::vector<float>& bins) {
        return std::span(bins).subspan(std::min(result.first_bin, bins.size()));
    };
    const std::vector<float> a = sent_mbit(one), b = sent_mbit(other);
    return deviation(measured(one, a), measured(other, b), kSecond);
}

// The runs that it is asked of, as a pattern.
const std::string& asked_of(const Expectation& expectation) {
    const auto several = std::find_if(expectation.values.begin(), expectation.values.end(),
                                      [](const Value& value) { return asks_several(value.run); });
    return several == expectation.values.end() ? expectation.values.front().run : several->run;
}

// The run of which `value` is asked, where `asked` stands for `run`.
std::string run_of(const Value& value, const std::string& asked, const std::string& run) {
    if (value.run.empty()) return run;
    if (!asks_several(value.run)) return value.run;
    return beginning_of(value.run) + run.substr(beginning_of(asked).size());
}

// What it is asked of must be there.
Result<void> check_runs(const Expectation& made, const std::vector<std::string>& runs) {
    const std::string& asked = asked_of(made);
    for (const std::string& run : runs) {
        if (!asks(asked, run)) continue;
        for (const Value& value : made.values) {
            const std::string other = run_of(value, asked, run);
            if (std::find(runs.begin(), runs.end(), other) == runs.end())
                return wrong(other, "names a run that there is not");
        }
    }
    return {};
}

}  // namespace

Result<Expectation> parse_expectation(const std::string& text,
                                      const std::vector<std::string>& runs) {
    constexpr std::string_view kWhere = " where ";
    const std::size_t where = text.find(kWhere);
    std::vector<std::string> words;
    std::istringstream stream(text.substr(0, where));
    for (std::string word; stream >> word;) words.push_back(word);
    Expectation made;
    made.text = text;
    if (words.size() < 3) return wrong(text, "is no expectation");
    const std::string how = words[words.size() - 2];
    if (how != "in" && how != ">=" && how != "<=") return wrong(how, "is not in, >= or <=");
    if (const auto bounds = parse_bounds(how, words.back(), made); !bounds) return bounds.error();
    words.resize(words.size() - 2);
    using Kind = Expectation::Kind;
    std::vector<std::string> values;
    if (words[0] == "mean") {
        made.kind = Kind::mean;
        words.erase(words.begin());
    }
    if (words.empty()) return wrong(text, "is no expectation");
    if (words[0] == "rank") {
        if (words.size() < 4) return wrong(text, "ranks fewer than two runs");
        made.kind = Kind::rank;
        for (std::size_t i = 2; i < words.size(); ++i) {
            std::istringstream alike(words[i]);
            for (std::string run; std::getline(alike, run, '=');) {
                values.push_back(run + ":" + words[1]);
                made.order.push_back(-static_cast<double>(i));
            }
        }
    } else if (words[0] == "deviation") {
        if (words.size() != 3) return wrong(text, "does not set one run against another");
        made.kind = Kind::deviation;
        for (std::size_t i = 1; i < words.size(); ++i) values.push_back(words[i] + ":sum_mbit");
    } else if (words.size() == 1 || (words.size() == 3 && words[1] == "/")) {
        values.push_back(words.front());
        if (words.size() == 3) values.push_back(words.back());
    } else {
        return wrong(text, "is no expectation");
    }
    const bool of_some = made.kind == Kind::rank || made.kind == Kind::deviation;
    for (const std::string& word : values) {
        auto value = parse_value(word, runs);
        if (!value) return value.error();
        if (of_some && asks_several(value->run)) return wrong(word, "takes several runs as one");
        made.values.push_back(std::move(*value));
    }
    if (const auto there = check_runs(made, runs); !there) return there.error();
    if (where == std::string::npos) return made;
    auto condition = parse_expectation(text.substr(where + kWhere.size()), runs);
    if (!condition) return condition.error();
    if (made.kind != Kind::each || condition->kind != Kind::each ||
        std::any_of(condition->values.begin(), condition->values.end(),
                    [](const Value& value) { return !value.run.empty(); }))
        return wrong(text, "has a condition that is not of each run");
    made.condition.push_back(std::move(*condition));
    return made;
}

std::vector<Finding> judge(const Expectation& expectation, std::span<const RunResult> runs) {
    const auto finding = [&expectation](std::string run, double figure) {
        const double margin = std::min(figure - expectation.low, expectation.high - figure);
        return Finding{.text = expectation.text,
                       .run = std::move(run),
                       .figure = figure,
                       .margin = std::isnan(figure) ? -kInfinity : margin};
    };
    using Kind = Expectation::Kind;
    if (expectation.kind == Kind::rank) {
        std::vector<double> figures;
        for (const Value& value : expectation.values)
            figures.push_back(figure_of(value, result_of(value.run, runs)));
        return {finding("", rank_correlation(figures, expectation.order))};
    }
    if (expectation.kind == Kind::deviation) {
        const auto& values = expectation.values;
        return {finding("", deviation_of(result_of(values.front().run, runs),
                                         result_of(values.back().run, runs)))};
    }
    const std::string& asked = asked_of(expectation);
    double sum = 0;
    std::vector<Finding> findings;
    for (const RunResult& run : runs) {
        if (!asks(asked, run.name)) continue;
        std::vector<double> figures;
        for (const Value& value : expectation.values)
            figures.push_back(figure_of(value, result_of(run_of(value, asked, run.name), runs)));
        const double figure = figures.size() == 2 ? figures[0] / figures[1] : figures[0];
        sum += figure;
        findings.push_back(finding(asks_several(asked) ? run.name : "", figure));
        for (const Expectation& condition : expectation.condition) {
            if (!judge(condition, std::span(&run, 1)).front().holds())
                findings.back().margin = kInfinity;
        }
    }
    if (expectation.kind == Kind::mean)
        return {finding("", sum / static_cast<double>(findings.size()))};
    return findings;
}

const Finding& worst(std::span<const Finding> findings) {
    LAMBDA_ASSERT(!findings.empty());
    return *std::min_element(
        findings.begin(), findings.end(),
        [](const Finding& a, const Finding& b) { return a.margin < b.margin; });
}

}  // namespace lambda::simulation
