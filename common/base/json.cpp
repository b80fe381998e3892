#include "common/base/json.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "common/base/ascii.h"
#include "common/base/hex.h"
#include "common/base/utf8.h"

namespace lambda {
namespace {

class Cursor {
  public:
    explicit Cursor(std::string_view rest) : rest_(rest) {}

    bool take(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    bool ended() const { return rest_.empty(); }

    std::optional<std::string> string() {
        if (!take("\"")) return std::nullopt;
        std::string raw;
        while (!rest_.empty() && rest_.front() != '"') {
            const char c = next();
            if (c != '\\') {
                raw += c;
            } else if (const auto meant = escaped()) {
                raw += *meant;
            } else {
                return std::nullopt;
            }
        }
        if (!take("\"")) return std::nullopt;
        return raw;
    }

    std::string digits() {
        std::string taken;
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') taken += next();
        return taken;
    }

  private:
    char next() {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }

    // Behind the backslash: what json_string() writes there.
    std::optional<char> escaped() {
        if (take("n")) return '\n';
        if (take("\"")) return '"';
        if (take("\\")) return '\\';
        if (!take("u00") && !take("udc")) return std::nullopt;
        std::array<std::byte, 1> byte{};
        const std::string_view digits = rest_.substr(0, 2);
        if (!all_hex(digits) || !parse_hex(digits, byte)) return std::nullopt;
        rest_.remove_prefix(2);
        return static_cast<char>(byte[0]);
    }

    std::string_view rest_;
};

std::optional<JsonField> parse_field(Cursor& cursor) {
    auto name = cursor.string();
    if (!name || !cursor.take(":")) return std::nullopt;
    if (cursor.take("true")) return JsonField{JsonField::Kind::yes, *std::move(name), {}};
    if (auto digits = cursor.digits(); !digits.empty())
        return JsonField{JsonField::Kind::number, *std::move(name), std::move(digits)};
    auto text = cursor.string();
    if (!text) return std::nullopt;
    return JsonField{JsonField::Kind::text, *std::move(name), *std::move(text)};
}

}  // namespace

std::string json_string(std::string_view raw) {
    std::string quoted = "\"";
    while (!raw.empty()) {
        const std::size_t length = utf8_length(raw);
        const std::string_view sequence = raw.substr(0, length == 0 ? 1 : length);
        if (length == 0) {
            quoted += "\\udc" + hex_of(sequence[0]);
        } else if (sequence == "\"" || sequence == "\\") {
            (quoted += '\\') += sequence;
        } else if (sequence == "\n") {
            quoted += "\\n";
        } else if (is_control(sequence[0])) {
            quoted += "\\u00" + hex_of(sequence[0]);
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
    std::snprintf(buffer, sizeof buffer, "%.6f", value);
    return raw(name, std::isfinite(value) ? buffer : "null");
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view value) {
    if (!fields_.empty()) fields_ += ',';
    fields_ += json_string(name);
    fields_ += ':';
    fields_ += value;
    return *this;
}

std::optional<std::vector<JsonField>> parse_json_line(std::string_view line) {
    Cursor cursor(line);
    std::vector<JsonField> fields;
    if (!cursor.take("{")) return std::nullopt;
    do {
        auto field = parse_field(cursor);
        if (!field || fields.size() == kMostJsonFields) return std::nullopt;
        fields.push_back(*std::move(field));
    } while (cursor.take(","));
    if (!cursor.take("}") || !cursor.ended()) return std::nullopt;
    return fields;
}

}  // namespace lambda
