// How much of an entry's extended attributes the records carry: kMaxExtended of them, names and
// values of kMaxExtendedBytes in all. An entry that has more fails alone, at the sender. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/ports/attributes.h"

namespace lambda::transfer {

std::size_t extended_bytes(const std::optional<ports::Archived>& archived);

// Nothing where the records can carry it. `path`: of the entry, at the source.
std::optional<Error> too_much_extended(const std::optional<ports::Archived>& archived,
                                       const std::string& path);

}  // namespace lambda::transfer
