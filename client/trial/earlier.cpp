#include "client/trial/earlier.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace lambda::client {
namespace {

using Json = nlohmann::json;

std::optional<double> number_of(const Json& object, const char* name) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_number()) return std::nullopt;
    return at->get<double>();
}

}  // namespace

Result<EarlierTrial> earlier_trial(const std::string& text) {
    EarlierTrial trial;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto object = Json::parse(line, nullptr, false);
        if (!object.is_object()) continue;
        const Json event = object.value("event", Json());
        const auto server = object.find("server");
        if (event == "trial" && server != object.end() && server->is_string())
            trial.server = *server;
        if (event != "case") continue;
        const auto key = object.find("key");
        const auto rate = number_of(object, "gbit_per_s");
        if (key == object.end() || !key->is_string() || !rate || *rate <= 0) continue;
        EarlierCase& each = trial.cases[*key];
        each.gbit_per_s = *rate;
        const auto low = number_of(object, "gbit_per_s_low");
        const auto high = number_of(object, "gbit_per_s_high");
        if (low && high) each.interval = Interval{*low, *high};
    }
    if (!trial.cases.empty()) return trial;
    return Error{.fault = Fault::usage,
                 .message = "holds no case of a trial",
                 .path = {},
                 .side = Side::local,
                 .remedy = "give what an earlier trial wrote to standard output with --json"};
}

std::optional<Change> change_since(const EarlierTrial& before, const CaseResult& now) {
    const auto at = before.cases.find(now.what.key());
    if (at == before.cases.end()) return std::nullopt;
    Change change{
        .before = at->second, .times = now.gbit_per_s() / at->second.gbit_per_s, .told_apart = {}};
    const auto here = confidence(now.rates());
    const auto& there = change.before.interval;
    if (here && there) change.told_apart = here->low > there->high || there->low > here->high;
    return change;
}

std::string Change::sentence() const {
    char numbers[128];
    int length = std::snprintf(numbers, sizeof numbers, "before %.3f Gbit/s", before.gbit_per_s);
    std::string text(numbers, static_cast<std::size_t>(length));
    if (before.interval) {
        length = std::snprintf(numbers, sizeof numbers, " (%.3f to %.3f)", before.interval->low,
                               before.interval->high);
        text.append(numbers, static_cast<std::size_t>(length));
    }
    length = std::snprintf(numbers, sizeof numbers, ", now %.2f times that, ", times);
    text.append(numbers, static_cast<std::size_t>(length));
    if (!told_apart) return text + "too few runs to tell whether by more than chance";
    return text + (*told_apart ? "by more than chance" : "not told apart by the intervals");
}

void add_change(JsonObject& object, const std::optional<Change>& change) {
    const auto number = [&](const char* name, std::optional<double> value) {
        value ? object.number(name, *value) : object.raw(name, "null");
    };
    const auto interval = change ? change->before.interval : std::nullopt;
    number("before_gbit_per_s", change ? std::optional(change->before.gbit_per_s) : std::nullopt);
    number("before_gbit_per_s_low", interval ? std::optional(interval->low) : std::nullopt);
    number("before_gbit_per_s_high", interval ? std::optional(interval->high) : std::nullopt);
    number("times_before", change ? std::optional(change->times) : std::nullopt);
    const auto told_apart = change ? change->told_apart : std::nullopt;
    object.raw("told_apart", !told_apart ? "null" : *told_apart ? "true" : "false");
}

std::size_t not_run_again(const EarlierTrial& before, const std::vector<CaseResult>& now) {
    std::set<std::string> gone;
    for (const auto& [key, each] : before.cases) gone.insert(key);
    for (const CaseResult& each : now) gone.erase(each.what.key());
    return gone.size();
}

}  // namespace lambda::client
