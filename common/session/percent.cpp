#include "common/session/percent.h"

#include <array>

#include "common/base/hex.h"

namespace lambda::session {

std::string percent_encode(std::string_view text, bool (*plain)(char)) {
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

std::string percent_encode_line(std::string_view text) {
    return percent_encode(text, [](char c) { return c != '\r' && c != '\n' && c != '%'; });
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        std::array<std::byte, 1> byte{};
        if (!parse_hex(text.substr(i + 1, 2), byte)) return std::nullopt;
        decoded += static_cast<char>(byte[0]);
        i += 2;
    }
    return decoded;
}

}  // namespace lambda::session
