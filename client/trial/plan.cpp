#include "client/trial/plan.h"

#include <algorithm>
#include <functional>
#include <set>

#include "common/base/units.h"
#include "config/schema.h"

namespace lambda::client {
namespace {

Error usage(std::string message, std::string remedy = {}) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

Result<std::vector<Leg>> legs_of(const std::string& text) {
    const std::vector<std::string> words = split_list(text);
    std::vector<Leg> legs;
    const auto meant = [](const Leg& leg, const std::string& word) {
        return word == "all" || std::string_view(leg.name).find(word) != std::string_view::npos;
    };
    for (const std::string& word : words) {
        const auto any = std::any_of(all_legs().begin(), all_legs().end(),
                                     [&](const Leg& leg) { return meant(leg, word); });
        if (!any || word.empty()) {
            std::string names;
            for (const Leg& leg : all_legs()) names += std::string(" ") + leg.name;
            return usage("--legs: no leg has '" + word + "' in its name", "there are" + names);
        }
    }
    for (const Leg& leg : all_legs()) {
        if (std::any_of(words.begin(), words.end(),
                        [&](const std::string& word) { return meant(leg, word); }))
            legs.push_back(leg);
    }
    return legs;
}

Result<std::vector<std::uint64_t>> sizes_of(const std::string& text) {
    std::vector<std::uint64_t> sizes;
    for (const std::string& piece : split_list(text)) {
        const auto size = parse_size(piece);
        if (!size) return usage("--size " + piece + ": " + size.error().message);
        if (*size < MiB) return usage("--size " + piece + " is too small to measure: 1MiB or more");
        sizes.push_back(*size);
    }
    return sizes;
}

// Each of `settings` with each value of the list.
Result<std::vector<config::ClientSettings>> varied(
    const std::vector<config::ClientSettings>& settings, const std::string& key,
    const std::string& list) {
    std::vector<config::ClientSettings> all;
    for (const config::ClientSettings& base : settings) {
        for (const std::string& piece : split_list(list)) {
            config::ClientSettings made = base;
            const config::Schema schema = config::client_schema(made);
            const auto at = std::find_if(schema.keys().begin(), schema.keys().end(),
                                         [&](const config::Key& k) { return k.name == key; });
            const auto wrong =
                at->read({.key = key, .line = 0, .is_list = false, .items = {piece}});
            if (wrong) return usage("--" + key + " " + piece + ": " + *wrong, at->allowed);
            all.push_back(made);
            if (all.size() > kMostCases) return usage("these are more than 4096 cases");
        }
    }
    return all;
}

}  // namespace

const std::vector<Leg>& all_legs() {
    using Kind = Leg::Kind;
    static const std::vector<Leg> legs{
        {"read", Kind::read, true, false},           {"put-memory-memory", Kind::put, false, false},
        {"put-memory-disk", Kind::put, false, true}, {"put-disk-memory", Kind::put, true, false},
        {"put-disk-disk", Kind::put, true, true},    {"get-memory-memory", Kind::get, false, false},
        {"get-memory-disk", Kind::get, false, true}, {"get-disk-memory", Kind::get, true, false},
        {"get-disk-disk", Kind::get, true, true}};
    return legs;
}

std::string TrialCase::title() const {
    const std::string begin = std::string(leg.name) + ", " + format_size(size);
    if (leg.kind == Leg::Kind::read) return begin;
    return begin + ", " + std::to_string(settings.stripes) +
           (settings.stripes == 1 ? " stripe, " : " stripes, ") + settings.congestion + ", " +
           session::to_string(settings.protection) + ", payload " +
           std::to_string(settings.payload);
}

std::string TrialCase::key() const {
    return std::string(leg.name) + "|" + std::to_string(size) + "|" +
           std::to_string(settings.stripes) + "|" + settings.congestion + "|" +
           session::to_string(settings.protection) + "|" + std::to_string(settings.payload);
}

Result<std::vector<TrialCase>> cases_of(const TrialOptions& options,
                                        const config::ClientSettings& settings) {
    const auto legs = legs_of(options.legs);
    if (!legs) return legs.error();
    const auto sizes = sizes_of(options.sizes);
    if (!sizes) return sizes.error();
    std::vector<config::ClientSettings> all{settings};
    for (const auto& [key, list] : options.swept) {
        auto more = varied(all, key, list);
        if (!more) return more.error();
        all = *std::move(more);
    }
    std::vector<TrialCase> cases;
    std::set<std::string> known;  // what is named twice is one case
    for (const Leg& leg : *legs) {
        for (const std::uint64_t size : *sizes) {
            for (const config::ClientSettings& each : all) {
                TrialCase one{leg, size, each};
                if (known.insert(one.key()).second) cases.push_back(std::move(one));
                if (leg.kind == Leg::Kind::read) break;  // nothing of them matters
            }
        }
    }
    if (cases.size() > kMostCases) return usage("these are more than 4096 cases");
    return cases;
}

}  // namespace lambda::client
