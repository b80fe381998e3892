#include "common/base/hex.h"

namespace lambda {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string to_hex(ByteView bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
        text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    return text;
}

std::string hex_of(char byte) {
    return to_hex(std::as_bytes(std::span(&byte, 1)));
}

bool parse_hex(std::string_view text, ByteSpan out) {
    if (text.size() != out.size() * 2) return false;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const int high = hex_digit(text[2 * i]);
        const int low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = static_cast<std::byte>(high << 4 | low);
    }
    return true;
}

bool all_hex(std::string_view text) {
    return text.find_first_not_of(kDigits) == text.npos;
}

}  // namespace lambda
