// Text of any bytes as a fact's value: percent-encoded, so that any name can stand there. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/session/facts.h"

namespace lambda::session {

std::string encode_value(std::string_view text);
// Nothing for a bad encoding. decode_value() takes no CR, LF and NUL either, which no command could
// carry.
std::optional<std::string> decode_text(std::string_view text);
std::optional<std::string> decode_value(std::string_view text);

// Of a fact: empty where it is not there, refused where it is no percent-encoded text.
std::string read_text(const Facts& facts, FactReader& reader, std::string_view name);

}  // namespace lambda::session
