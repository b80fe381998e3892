// Names are raw bytes: how they are shown to people and put into JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lambda::client {

// For a terminal: control characters and bytes that are no UTF-8 as \n, \t or \xHH, so that a name
// can neither move the cursor nor end a line.
std::string printable(std::string_view raw);

// A JSON string with its quotes. A byte b that is no UTF-8 stands as the escape of U+DC00 + b
// ("\udcff"), so that the bytes can be had back.
std::string json_string(std::string_view raw);

// One JSON object on one line, its fields in the order in which they were added.
class JsonObject {
  public:
    JsonObject& text(std::string_view name, std::string_view value);
    JsonObject& number(std::string_view name, std::uint64_t value);
    JsonObject& number(std::string_view name, double value);
    // `value` is JSON already.
    JsonObject& raw(std::string_view name, std::string_view value);
    std::string line() const { return "{" + fields_ + "}"; }

  private:
    std::string fields_;
};

}  // namespace lambda::client
