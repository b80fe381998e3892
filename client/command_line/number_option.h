// Counts on the command line.
#pragma once

#include <cstdint>
#include <string>

namespace lambda::client {

// Decimal digits alone: what CLI11 takes for unsigned numbers wraps "-1" around, and what is too
// large besides. Throws CLI::ValidationError.
std::uint64_t number_of(const char* option, const std::string& text);

}  // namespace lambda::client
