#include "common/session/facts.h"

#include <algorithm>
#include <charconv>

#include "common/base/ascii.h"
#include "common/base/hex.h"

namespace lambda::session {
namespace {

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_name(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), is_name_character);
}

bool is_value(std::string_view value) {
    return std::none_of(value.begin(), value.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte <= ' ' || byte == 0x7f || c == ';';
    });
}

}  // namespace

Error usage_error(std::string message, std::string remedy) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

Facts& Facts::add(std::string_view name, std::string_view value) {
    LAMBDA_ASSERT(is_name(name) && is_value(value) && find(name) == nullptr);
    facts_.emplace_back(name, value);
    return *this;
}

Facts& Facts::add(std::string_view name, std::uint64_t value) {
    return add(name, std::string_view(std::to_string(value)));
}

Result<ParsedFacts> Facts::parse(std::string_view text) {
    ParsedFacts parsed;
    const std::size_t blank = text.find(' ');
    if (blank != std::string_view::npos) parsed.rest = std::string(text.substr(blank + 1));
    std::string_view left = text.substr(0, blank);
    while (!left.empty()) {
        const std::size_t end = left.find(';');
        if (end == std::string_view::npos) return usage_error("a fact does not end in ';'");
        const std::string_view fact = left.substr(0, end);
        left.remove_prefix(end + 1);
        const std::size_t equals = fact.find('=');
        if (equals == std::string_view::npos) return usage_error("a fact has no '='");
        const std::string name = lower_case(fact.substr(0, equals));
        const std::string_view value = fact.substr(equals + 1);
        if (!is_name(name)) return usage_error("a fact has a malformed name");
        if (!is_value(value)) return usage_error("fact '" + name + "' has a malformed value");
        if (parsed.facts.find(name)) return usage_error("fact '" + name + "' stands twice");
        if (parsed.facts.size() == kMaxFacts) return usage_error("too many facts");
        parsed.facts.add(name, value);
    }
    return parsed;
}

std::string Facts::text() const {
    std::string text;
    for (const auto& [name, value] : facts_) text += name + "=" + value + ";";
    return text;
}

const std::string* Facts::find(std::string_view name) const {
    for (const auto& fact : facts_) {
        if (fact.first == name) return &fact.second;
    }
    return nullptr;
}

std::uint64_t FactReader::number(std::string_view name, std::uint64_t low, std::uint64_t high) {
    const std::string* text = required(name);
    if (!text) return low;
    const std::optional<std::uint64_t> value = parse_number(*text);
    if (value && *value >= low && *value <= high) return *value;
    refuse(name, "a number from " + std::to_string(low) + " to " + std::to_string(high));
    return low;
}

std::size_t FactReader::choice(std::string_view name, std::span<const std::string_view> words) {
    const std::string* text = required(name);
    if (!text) return 0;
    const auto found = std::find(words.begin(), words.end(), lower_case(*text));
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    std::string allowed = "one of";
    for (const std::string_view word : words) allowed += " " + std::string(word);
    refuse(name, allowed);
    return 0;
}

std::size_t FactReader::choice_or(std::string_view name, std::span<const std::string_view> words,
                                  std::size_t otherwise) {
    return facts_.find(name) == nullptr ? otherwise : choice(name, words);
}

std::uint64_t FactReader::number_or(std::string_view name, std::uint64_t low, std::uint64_t high,
                                    std::uint64_t otherwise) {
    return facts_.find(name) ? number(name, low, high) : otherwise;
}

bool FactReader::flag(std::string_view name, bool otherwise) {
    return number_or(name, 0, 1, otherwise ? 1 : 0) == 1;
}

void FactReader::hex(std::string_view name, ByteSpan out) {
    const std::string* text = required(name);
    if (text && !parse_hex(*text, out))
        refuse(name, std::to_string(out.size() * 2) + " hex digits");
}

std::string FactReader::word(std::string_view name) {
    const std::string* text = required(name);
    if (!text) return {};
    if (text->empty()) refuse(name, "a word");
    return *text;
}

void FactReader::refuse(std::string_view name, std::string_view allowed) {
    if (error_) return;
    error_ = usage_error("fact '" + std::string(name) + "' has a bad value",
                         "it takes " + std::string(allowed));
}

const std::string* FactReader::required(std::string_view name) {
    const std::string* text = facts_.find(name);
    if (!text && !error_) error_ = usage_error("fact '" + std::string(name) + "' is missing");
    return text;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, problem] = std::from_chars(text.data(), last, value);
    if (text.empty() || problem != std::errc() || end != last) return std::nullopt;
    return value;
}

}  // namespace lambda::session
