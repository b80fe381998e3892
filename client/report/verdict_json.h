// A verdict with its evidence as a JSON object (docs/verdict.md). Pure.
#pragma once

#include <string>

#include "common/verdict/verdict.h"

namespace lambda::client {

std::string verdict_json(const verdict::Evidence& evidence);

}  // namespace lambda::client
