// Characters of ASCII; of any other nothing is said, and nothing changed. Pure.
#pragma once

#include <string>
#include <string_view>

namespace lambda {

inline bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

inline std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
}

}  // namespace lambda
