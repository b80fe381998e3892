// Flat JSON objects, one on a line. Texts are raw bytes, as names are: a byte b that is no UTF-8
// stands as the escape of U+DC00 + b ("\udcff"), so that the bytes can be had back. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lambda {

// With its quotes.
std::string json_string(std::string_view raw);

// Its fields stand in the order in which they were added.
class JsonObject {
  public:
    JsonObject& text(std::string_view name, std::string_view value);
    JsonObject& number(std::string_view name, std::uint64_t value);
    JsonObject& number(std::string_view name, double value);  // null where it is not finite
    // `value` is JSON already.
    JsonObject& raw(std::string_view name, std::string_view value);
    std::string line() const { return "{" + fields_ + "}"; }

  private:
    std::string fields_;
};

struct JsonField {
    enum class Kind { text, number, yes };  // "...", digits alone, true
    Kind kind = Kind::text;
    std::string name;
    std::string value;  // raw bytes; of a number: its digits
};

constexpr std::size_t kMostJsonFields = 32;

// An object as JsonObject writes it, of nothing but those kinds and without a blank; nothing for
// any other text. That it is the very text which was written (an escape may be spelt in several
// ways), the caller sees by writing it again.
std::optional<std::vector<JsonField>> parse_json_line(std::string_view line);

}  // namespace lambda
