// When a transfer that does not move is given up, and why. Both ends judge alike. Pure.
#pragma once

#include <chrono>
#include <optional>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/engine/links.h"

namespace lambda::engine {

// How often an end that reads or deletes for long says so.
constexpr Duration kPatience = std::chrono::seconds(20);

// Why the transfer should end now: no feedback connection for a minute, or no progress for two.
// `silence`: what it means that no UDP packet ever came across; null where one did.
std::optional<Error> stalled(const Links& links, Time now, Time last_progress, const char* silence);

}  // namespace lambda::engine
