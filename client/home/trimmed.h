// Text without the blanks around it. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace lambda::client {

inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r";
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

}  // namespace lambda::client
