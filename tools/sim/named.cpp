#include "tools/sim/named.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "config/yaml_document.h"

namespace lambda::simulation {
namespace {

using config::Entry;
using config::setting_error;

bool is_list_key(const std::string& key) {
    return key == "flow" || key == "at" || key == "runs" || key == "expect";
}

// "NAME KEY=VALUE KEY=VALUE"
Result<NamedRun> parse_run(const std::string& text, const Flags& common) {
    std::istringstream words(text);
    NamedRun run{.name = {}, .flags = common, .scenario = {}};
    words >> run.name;
    const auto usage = [](const std::string& what) {
        return Error{
            .fault = Fault::usage, .message = what, .path = {}, .side = Side::local, .remedy = {}};
    };
    if (run.name.empty() || run.name.find_first_of(":=/,") != std::string::npos)
        return usage("\"" + text + "\" does not begin with a name");
    std::set<std::string> own;
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) return usage("\"" + word + "\" is no KEY=VALUE");
        const std::string key = word.substr(0, equals);
        const bool first = own.insert(key).second;
        if (!first && !is_list_key(key)) return usage("\"" + key + "\" stands twice");
        if (first && key == "flow") run.flags.flows.clear();
        if (first && key == "at") run.flags.changes.clear();
        if (const auto set = run.flags.set(key, word.substr(equals + 1)); !set) return set.error();
    }
    return run;
}

// The file as it is taken apart: what is common to its runs, and where each thing stands.
struct Parts {
    Flags common;
    const Entry* runs = nullptr;
    const Entry* expect = nullptr;
    const Entry* last = nullptr;
};

Result<Parts> parts_of(const std::vector<Entry>& entries, const std::string& file,
                       NamedScenario& into) {
    Parts parts;
    std::set<std::string> seen;
    for (const Entry& entry : entries) {
        const auto refuse = [&](const std::string& what) {
            return setting_error(file, entry.line, entry.key, what);
        };
        parts.last = &entry;
        if (!seen.insert(entry.key).second) return refuse("stands twice");
        if (entry.is_list != is_list_key(entry.key))
            return refuse(entry.is_list ? "is no flag that takes a list" : "takes a list");
        if (entry.items.empty()) return refuse("has no value");
        if (entry.key == "title") {
            into.title = entry.items[0];
        } else if (entry.key == "source") {
            into.source = entry.items[0];
        } else if (entry.key == "seeds") {
            const auto count = parse_number(entry.items[0]);
            if (!count || *count < 1 || *count > kMaxSeeds || *count != std::floor(*count))
                return refuse("is no number from 1 to 100");
            into.seeds = static_cast<unsigned>(*count);
        } else if (entry.key == "runs") {
            parts.runs = &entry;
        } else if (entry.key == "expect") {
            parts.expect = &entry;
        } else {
            for (const std::string& item : entry.items) {
                const auto set = parts.common.set(entry.key, item);
                if (!set) return refuse(set.error().message);
            }
        }
    }
    if (parts.last == nullptr) return setting_error(file, 1, "", "the file is empty");
    for (const char* key : {"title", "source", "expect"}) {
        if (!seen.contains(key)) return setting_error(file, parts.last->line, key, "is missing");
    }
    return parts;
}

}  // namespace

Result<NamedScenario> parse_named(std::string_view text, const std::string& file) {
    const auto entries = config::parse_document(text, file);
    if (!entries) return entries.error();
    NamedScenario made;
    const auto parts = parts_of(*entries, file, made);
    if (!parts) return parts.error();
    std::vector<std::string> names;
    const std::vector<std::string> lines =
        parts->runs == nullptr ? std::vector<std::string>{""} : parts->runs->items;
    const Entry& from = parts->runs == nullptr ? *parts->last : *parts->runs;
    if (lines.size() > kMaxRuns) return setting_error(file, from.line, from.key, "at most 64");
    for (const std::string& line : lines) {
        Result<NamedRun> run = NamedRun{.name = {}, .flags = parts->common, .scenario = {}};
        if (parts->runs != nullptr) run = parse_run(line, parts->common);
        if (!run) return setting_error(file, from.line, from.key, run.error().message);
        const auto fails = [&](const std::string& what) {
            const std::string whose = run->name.empty() ? "" : run->name + ": ";
            return setting_error(file, from.line, "", whose + what);
        };
        auto scenario = scenario_of(run->flags);
        if (!scenario) return fails(scenario.error().message);
        if (std::find(names.begin(), names.end(), run->name) != names.end())
            return fails("two runs have this name");
        run->scenario = std::move(*scenario);
        names.push_back(run->name);
        made.runs.push_back(std::move(*run));
    }
    for (const std::string& line : parts->expect->items) {
        auto expectation = parse_expectation(line, names);
        if (!expectation)
            return setting_error(file, parts->expect->line, "expect", expectation.error().message);
        made.expectations.push_back(std::move(*expectation));
    }
    return made;
}

Result<NamedScenario> read_named(const std::string& file) {
    const auto text = config::read_document(file, "the scenario");
    if (!text) return text.error();
    return parse_named(*text, file);
}

}  // namespace lambda::simulation
