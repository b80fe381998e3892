#include "client/text.h"

#include <cmath>
#include <cstdio>

namespace lambda::client {
namespace {

// The length of the UTF-8 sequence at the start of `text` (RFC 3629: shortest form, no surrogates,
// nothing above U+10FFFF); 0 where there is none.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
        const bool surrogate = lead == 0xED && byte(1) > 0x9F;
        return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const bool overlong = lead == 0xF0 && byte(1) < 0x90;
        const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
        return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

// U+0080 to U+009F: control characters of terminals that take 8 bits.
bool is_c1_control(std::string_view sequence) {
    return sequence.size() == 2 && sequence[0] == '\xC2' &&
           static_cast<unsigned char>(sequence[1]) < 0xA0;
}

std::string hex_escape(const char* format, char c) {
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, format,
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    return buffer;
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

std::string printable(std::string_view raw) {
    std::string shown;
    while (!raw.empty()) {
        const std::size_t length = utf8_length(raw);
        const std::string_view sequence = raw.substr(0, length == 0 ? 1 : length);
        if (sequence == "\n") {
            shown += "\\n";
        } else if (sequence == "\t") {
            shown += "\\t";
        } else if (length == 0 || is_control(sequence[0]) || is_c1_control(sequence)) {
            for (const char c : sequence) shown += hex_escape("\\x%02x", c);
        } else {
            shown += sequence;
        }
        raw.remove_prefix(sequence.size());
    }
    return shown;
}

std::string json_string(std::string_view raw) {
    std::string quoted = "\"";
    while (!raw.empty()) {
        const std::size_t length = utf8_length(raw);
        const std::string_view sequence = raw.substr(0, length == 0 ? 1 : length);
        if (length == 0) {
            quoted += hex_escape("\\udc%02x", sequence[0]);
        } else if (sequence == "\"" || sequence == "\\") {
            (quoted += '\\') += sequence;
        } else if (sequence == "\n") {
            quoted += "\\n";
        } else if (is_control(sequence[0])) {
            quoted += hex_escape("\\u%04x", sequence[0]);
        } else {
            quoted += sequence;
        }
        raw.remove_prefix(sequence.size());
    }
    return quoted += '"';
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
    return raw(name, json_string(value));
}

JsonObject& JsonObject::number(std::string_view name, std::uint64_t value) {
    return raw(name, std::to_string(value));
}

JsonObject& JsonObject::number(std::string_view name, double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.6f", std::isfinite(value) ? value : 0.0);
    return raw(name, buffer);
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view value) {
    if (!fields_.empty()) fields_ += ',';
    fields_ += json_string(name);
    fields_ += ':';
    fields_ += value;
    return *this;
}

}  // namespace lambda::client
