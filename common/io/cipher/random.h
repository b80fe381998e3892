// Random bytes for keys, tokens and names that nobody may guess.
#pragma once

#include "common/base/cursor.h"

namespace lambda::io {

// Cryptographically random bytes.
void fill_random(ByteSpan out);

}  // namespace lambda::io
