// What a command line says of options' values, before CLI11 reads it.
#pragma once

#include <span>
#include <string>

#include "common/base/result.h"

namespace lambda::config {

// The words before `--`. Error: an option with '=' and nothing behind it, as an unset variable
// leaves it; CLI11 would take the next word for its value.
Result<void> check_values(std::span<const char* const> words);

// A check for CLI11: what is wrong with the value of an option, else empty. An unset variable in
// quotes is no value.
std::string wrong_with_value(const std::string& text);
// Likewise, of a number of 64 bits: CLI11 wraps "-1" around, and cuts what is too large.
std::string wrong_with_number(const std::string& text);

}  // namespace lambda::config
