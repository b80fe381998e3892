// Where data of files lies in blocks, and how much of a set a sender has in hand: what both ends
// reckon with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/transfer/record.h"

namespace lambda::transfer {

// A stretch of a file within a block; it starts on a leaf bound of the file.
struct Extent {
    FileNumber file = 0;
    std::uint64_t offset = 0;  // in the file
    std::uint32_t at = 0;      // in the block
    std::uint32_t bytes = 0;
};

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Entries that a sender announced and that are not done.
constexpr std::size_t kMostInHand = 8192;
// Ranges of data of the files in hand; a receiver keeps several sets of them for each file.
constexpr std::size_t kMostRanges = 65536;
static_assert(kMostRanges >= kMaxDataRanges);

}  // namespace lambda::transfer
