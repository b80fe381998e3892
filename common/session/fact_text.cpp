#include "common/session/fact_text.h"

namespace lambda::session {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-:,@+").find(c) != std::string_view::npos;
}

}  // namespace

std::string encode_value(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        if (plain(c)) {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return encoded;
}

std::optional<std::string> decode_text(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            if (i + 2 >= text.size()) return std::nullopt;
            const int high = hex_digit(text[i + 1]);
            const int low = hex_digit(text[i + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            c = static_cast<char>(high * 16 + low);
            i += 2;
        }
        decoded += c;
    }
    return decoded;
}

std::optional<std::string> decode_value(std::string_view text) {
    auto decoded = decode_text(text);
    if (decoded && decoded->find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
        return std::nullopt;
    return decoded;
}

std::string read_text(const Facts& facts, FactReader& reader, std::string_view name) {
    const std::string* const value = facts.find(name);
    if (value == nullptr) return {};
    const auto text = decode_text(*value);
    if (!text) reader.refuse(name, "percent-encoded text");
    return text.value_or(std::string());
}

}  // namespace lambda::session
