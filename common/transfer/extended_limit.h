// How much of an entry's extended attributes the records carry: kMaxExtended of them, names and
// values of kMaxExtendedBytes in all. An entry that has more fails alone, at the sender. And how
// much of them both ends hold of all entries in hand. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/ports/attributes.h"

namespace lambda::transfer {

std::size_t extended_bytes(const std::optional<ports::Archived>& archived);

// Of entries that were announced and are not done: while they hold so much, a sender announces no
// other, and a receiver takes none with which it were twice as much. The directories that are
// entered have half of it at most, so that the rest can always end.
constexpr std::size_t kMostExtendedInHand = 16u << 20;
// What counts of an entry there: each attribute takes memory of its own, too.
std::size_t extended_in_hand(const std::optional<ports::Archived>& archived);

// Nothing where the records can carry it. `path`: of the entry, at the source.
std::optional<Error> too_much_extended(const std::optional<ports::Archived>& archived,
                                       const std::string& path);

}  // namespace lambda::transfer
