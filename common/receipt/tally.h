// What an end of a transfer keeps of its account (account.h). A value.
#pragma once

#include <cstdint>

#include "common/transfer/sha256.h"

namespace lambda::receipt {

struct Tally {
    transfer::Sha256 lines{};   // of all lines, from the first one of the receipt on
    std::uint64_t files = 0;    // that have a line
    std::uint64_t adopted = 0;  // of those, that stood there already
    std::uint64_t bytes = 0;    // sum of their sizes
};

}  // namespace lambda::receipt
