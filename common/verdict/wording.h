// A cause in words: what was seen, and what to change. Pure.
#pragma once

#include "common/verdict/verdict.h"

namespace lambda::verdict {

// In a table: "rate of the path"
const char* title_of(Cause cause);
std::string why(const Evidence& evidence, Cause cause, double share);
std::string remedy(const Evidence& evidence, Cause cause);

}  // namespace lambda::verdict
