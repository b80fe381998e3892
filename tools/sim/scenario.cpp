#include "tools/sim/scenario.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "common/sabul/congestion/registry.h"
#include "common/session/terms.h"

namespace lambda::simulation {
namespace {

constexpr std::array kFlowKeys{"law", "rtt",   "initial", "known", "highest", "stripes",
                               "syn", "start", "access",  "count", "size"};

Error wrong(std::string_view word, const std::string& allowed) {
    return Error{.fault = Fault::usage,
                 .message = "\"" + std::string(word) + "\" is no part of a scenario",
                 .path = {},
                 .side = Side::local,
                 .remedy = allowed};
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        words.push_back(text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return words;
}

std::string_view key_of(std::string_view word) {
    return word.substr(0, word.find('='));
}

std::string_view value_of(std::string_view word) {
    const std::size_t equals = word.find('=');
    return equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
}

template <typename T>
Result<void> take(Result<T> parsed, T& into) {
    if (!parsed) return parsed.error();
    into = *parsed;
    return {};
}

// "20ms", or "20ms..200ms".
Result<void> take_range(std::string_view text, Duration& least, std::optional<Duration>& most) {
    const std::size_t dots = text.find("..");
    if (dots != std::string_view::npos) {
        const auto taken = take(parse_duration(text.substr(dots + 2)), most.emplace());
        if (!taken) return taken;
    }
    return take(parse_duration(text.substr(0, dots)), least);
}

Result<unsigned> parse_count(std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value == 0 || value > 1024)
        return wrong(text, "a number from 1 to 1024 is allowed");
    return value;
}

}  // namespace

Result<std::vector<FlowSettings>> parse_flow(std::string_view text) {
    FlowSettings flow;
    unsigned count = 1, stripes = 1;
    std::optional<Duration> longest, latest;
    bool in_law = false;
    for (const std::string_view word : words_of(text)) {
        const std::string_view key = key_of(word), value = value_of(word);
        if (std::find(kFlowKeys.begin(), kFlowKeys.end(), key) == kFlowKeys.end()) {
            if (!in_law)
                return wrong(word,
                             "a flow has law, rtt, initial, known, highest, stripes, syn, start, "
                             "access, size and count");
            flow.law += "," + std::string(word);
            continue;
        }
        in_law = key == "law";
        Result<void> taken;
        if (key == "law") flow.law = value;
        if (key == "rtt") taken = take_range(value, flow.rtt, longest);
        if (key == "initial") taken = take(parse_rate(value), flow.initial);
        if (key == "known") taken = take(parse_rate(value), flow.known);
        if (key == "highest") taken = take(parse_rate(value), flow.highest);
        if (key == "syn") taken = take(parse_duration(value), flow.syn);
        if (key == "start") taken = take_range(value, flow.start, latest);
        if (key == "size") taken = take(parse_size(value), flow.bytes);
        if (key == "stripes") taken = take(parse_count(value), stripes);
        if (key == "count") taken = take(parse_count(value), count);
        if (key == "access") taken = take(parse_rate(value), flow.access.emplace());
        if (!taken) return taken.error();
    }
    if (stripes > session::kMaxStripes) return wrong(text, "at most 64 stripes are allowed");
    if (flow.syn < session::kLeastSyn || flow.syn > session::kLongestSyn)
        return wrong(text, "a syn from 1ms to 1s is allowed");
    if (flow.access && flow.access->bits_per_second <= 0)
        return wrong(text, "access has a rate above 0");
    flow.stripes = static_cast<std::uint16_t>(stripes);
    if (const auto law = sabul::check_law(flow.law); !law) {
        Error error = law.error();
        error.fault = Fault::usage;
        return error;
    }
    if (latest && *latest < flow.start)
        return wrong(text, "a range of starts ends after it begins");
    flow.start_within = latest.value_or(flow.start) - flow.start;
    std::vector<FlowSettings> flows(count, flow);
    for (unsigned i = 1; i < count; ++i)
        flows[i].rtt += (longest.value_or(flow.rtt) - flow.rtt) * i / (count - 1);
    return flows;
}

Result<PathChange> parse_change(std::string_view text) {
    PathChange change;
    const auto words = words_of(text);
    for (std::size_t i = 0; i < words.size(); ++i) {
        Result<void> taken;
        const std::string_view key = key_of(words[i]), value = value_of(words[i]);
        if (i == 0) {
            taken = take(parse_duration(words[i]), change.at);
        } else if (key == "capacity") {
            taken = take(parse_rate(value), change.capacity.emplace());
            if (taken && change.capacity->bits_per_second <= 0)
                return wrong(words[i], "a capacity is above 0");
        } else if (key == "rtt") {
            taken = take(parse_duration(value), change.rtt.emplace());
        } else if (key == "loss") {
            const std::string number(value);
            char* end = nullptr;
            change.loss = std::strtod(number.c_str(), &end);
            if (number.empty() || *end != '\0' || !(*change.loss >= 0 && *change.loss < 1))
                return wrong(words[i], "a loss is a share from 0 to 1");
        } else {
            return wrong(words[i], "a change has capacity, rtt and loss after its time");
        }
        if (!taken) return taken.error();
    }
    return change;
}

}  // namespace lambda::simulation
