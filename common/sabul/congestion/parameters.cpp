#include "common/sabul/congestion/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "common/base/ascii.h"

namespace lambda::sabul {
namespace {

std::string plain(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

std::string range(const std::string& least, const std::string& most) {
    return least + " to " + most;
}

}  // namespace

std::string law_name_of(std::string_view text) {
    return lower_case(text.substr(0, text.find(':')));
}

Parameters::Parameters(std::string_view text) : law_(law_name_of(text)) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    std::string_view left = text.substr(colon + 1);
    while (true) {
        const std::size_t comma = left.find(',');
        const std::string_view one = left.substr(0, comma);
        const std::size_t equals = one.find('=');
        if (equals == 0 || equals == std::string_view::npos || equals + 1 == one.size()) {
            refuse("'" + std::string(one) + "' is no parameter of a law",
                   "write NAME:PARAMETER=VALUE,...");
            return;
        }
        const std::string name = lower_case(one.substr(0, equals));
        const bool twice = std::any_of(given_.begin(), given_.end(),
                                       [&](const Given& each) { return each.name == name; });
        if (twice) refuse("parameter '" + name + "' of law '" + law_ + "' stands twice");
        given_.push_back({name, std::string(one.substr(equals + 1))});
        if (comma == std::string_view::npos) return;
        left = left.substr(comma + 1);
    }
}

const std::string* Parameters::take(std::string_view name, const std::string& allowed) {
    known_ += (known_.empty() ? "" : ", ") + std::string(name) + " (" + allowed + ")";
    const std::string key = lower_case(name);
    for (Given& each : given_) {
        if (each.name != key) continue;
        each.asked = true;
        return &each.value;
    }
    return nullptr;
}

void Parameters::refuse(std::string message, std::string remedy) {
    if (error_) return;
    error_ = Error{.fault = Fault::usage,
                   .message = std::move(message),
                   .path = {},
                   .side = Side::local,
                   .remedy = std::move(remedy)};
}

double Parameters::number(std::string_view name, double otherwise, Bounds bounds) {
    const std::string allowed = range(plain(bounds.least), plain(bounds.most));
    const std::string* text = take(name, allowed);
    if (text == nullptr) return otherwise;
    double value = 0;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), value);
    const bool good = problem == std::errc() && end == text->data() + text->size() &&
                      value >= bounds.least && value <= bounds.most;
    if (good) return value;
    refuse("'" + *text + "' is no value of " + std::string(name) + " of law '" + law_ + "'",
           "it is " + allowed);
    return otherwise;
}

Duration Parameters::duration(std::string_view name, Duration otherwise, Duration least,
                              Duration most) {
    const std::string allowed = range(format_duration(least), format_duration(most));
    const std::string* text = take(name, allowed);
    if (text == nullptr) return otherwise;
    const Result<Duration> value = parse_duration(*text);
    if (value.ok() && *value >= least && *value <= most) return *value;
    refuse("'" + *text + "' is no value of " + std::string(name) + " of law '" + law_ + "'",
           "it is " + allowed);
    return otherwise;
}

BitRate Parameters::rate(std::string_view name, BitRate otherwise, BitRate least, BitRate most) {
    const std::string allowed = range(format_rate(least), format_rate(most));
    const std::string* text = take(name, allowed);
    if (text == nullptr) return otherwise;
    const Result<BitRate> value = parse_rate(*text);
    if (value.ok() && *value >= least && *value <= most) return *value;
    refuse("'" + *text + "' is no value of " + std::string(name) + " of law '" + law_ + "'",
           "it is " + allowed);
    return otherwise;
}

std::size_t Parameters::choice(std::string_view name, std::span<const std::string_view> words,
                               std::size_t otherwise) {
    std::string allowed;
    for (const std::string_view word : words) {
        allowed += (allowed.empty() ? "" : ", ") + std::string(word);
    }
    const std::string* text = take(name, allowed);
    if (text == nullptr) return otherwise;
    const auto at = std::find(words.begin(), words.end(), lower_case(*text));
    if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
    refuse("'" + *text + "' is no value of " + std::string(name) + " of law '" + law_ + "'",
           "it is one of " + allowed);
    return otherwise;
}

Result<void> Parameters::finish() const {
    if (error_) return *error_;
    for (const Given& each : given_) {
        if (each.asked) continue;
        return Error{.fault = Fault::usage,
                     .message = "law '" + law_ + "' has no parameter '" + each.name + "'",
                     .path = {},
                     .side = Side::local,
                     .remedy = known_.empty() ? "it has none" : "it has " + known_};
    }
    return {};
}

}  // namespace lambda::sabul
