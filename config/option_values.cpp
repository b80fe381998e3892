#include "config/option_values.h"

#include <string_view>

#include "common/session/facts.h"

namespace lambda::config {

Result<void> check_values(std::span<const char* const> words) {
    for (const std::string_view word : words) {
        if (word == "--") break;
        if (word.starts_with("--") && word.find('=') == word.size() - 1)
            return session::usage_error(std::string(word) + " has nothing behind its =",
                                        "give it a value, or leave it out");
    }
    return {};
}

std::string wrong_with_value(const std::string& text) {
    return text.empty() ? "has an empty value" : "";
}

std::string wrong_with_number(const std::string& text) {
    return session::parse_number(text)
               ? ""
               : "'" + text + "' is no number from 0 to " + std::to_string(UINT64_MAX);
}

}  // namespace lambda::config
