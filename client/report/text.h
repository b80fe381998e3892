// Names are raw bytes: how they are shown to people; into JSON they go by common/base/json.h. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/json.h"

namespace lambda::client {

// For a terminal: control characters and bytes that are no UTF-8 as \n, \t or \xHH, so that a name
// can neither move the cursor nor end a line.
std::string printable(std::string_view raw);

}  // namespace lambda::client
