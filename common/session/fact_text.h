// Names and other text of any bytes in and behind facts, percent-encoded where they must be. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/session/facts.h"

namespace lambda::session {

// As a fact's value.
std::string encode_value(std::string_view text);
// That text; empty where there is no such fact, or where its encoding was refused.
std::string read_text(const Facts& facts, FactReader& reader, std::string_view name);

// "facts; name" as a line of a reply; where the name has a CR or LF, encoded, with the fact
// encoded=percent.
std::string text_with_name(Facts facts, std::string_view name);
// That name; empty where nothing stands there, or where its encoding was refused.
std::string read_name(const ParsedFacts& parsed, FactReader& reader);

}  // namespace lambda::session
