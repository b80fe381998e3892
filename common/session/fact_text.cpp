#include "common/session/fact_text.h"

#include "common/base/ascii.h"
#include "common/session/percent.h"

namespace lambda::session {
namespace {

bool plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-:,@+").find(c) != std::string_view::npos;
}

}  // namespace

std::string encode_value(std::string_view text) {
    return percent_encode(text, plain);
}

std::string read_text(const Facts& facts, FactReader& reader, std::string_view name) {
    const std::string* const value = facts.find(name);
    if (value == nullptr) return {};
    const auto text = percent_decode(*value);
    if (!text) reader.refuse(name, "percent-encoded text");
    return text.value_or(std::string());
}

std::string text_with_name(Facts facts, std::string_view name) {
    if (name.find_first_of("\r\n") == name.npos) return facts.text() + " " + std::string(name);
    facts.add("encoded", "percent");
    return facts.text() + " " + percent_encode_line(name);
}

std::string read_name(const ParsedFacts& parsed, FactReader& reader) {
    const std::string raw = parsed.rest.value_or(std::string());
    const std::string* const encoded = parsed.facts.find("encoded");
    if (encoded == nullptr) return raw;
    const auto name = percent_decode(raw);
    if (lower_case(*encoded) != "percent" || !name) reader.refuse("encoded", "percent");
    return name.value_or(std::string());
}

}  // namespace lambda::session
