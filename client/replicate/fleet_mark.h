// Movers on several hosts must mean one directory by a destination that is here, not one each: who
// lists it leaves a mark in it, `.lambda-fleet-FLEET`, which holds the number of the listing, and
// nobody puts anything where he does not see that very number. The directory keeps its time.
// Any thread; processes on several hosts.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace lambda::client::replicate {

struct FleetMark {
    std::string fleet{};       // Store::epoch()
    std::int64_t listing = 0;  // its lease, which is greater than that of any earlier one; 0: none
};

// Makes the directory where it is missing. A newer mark stays: who left it lists in our place.
// Fault::file.
Result<void> leave_mark(const std::string& directory, const FleetMark& mark);
// Fault::session where it is not there: another host's directory may be, or not be there yet.
Result<void> see_mark(const std::string& directory, const FleetMark& mark);
// Once nothing is left to do there. Another listing's stays.
void remove_mark(const std::string& directory, const FleetMark& mark);

}  // namespace lambda::client::replicate
