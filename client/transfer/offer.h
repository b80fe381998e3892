// The terms of a transfer as this client offers them. `lanes`: transfers of this process side by
// side, this one with them, whose rings share its memory.
#pragma once

#include "client/transfer/destination.h"
#include "common/session/terms.h"
#include "common/verdict/verdict.h"
#include "config/client_settings.h"

namespace lambda::client {

// All but the direction. Of a timetable of rates, the lowest.
session::Terms make_terms(const config::ClientSettings& settings, std::uint16_t lanes);
verdict::RingRoom ring_room(const config::ClientSettings& settings, std::uint16_t lanes);
// With which each of them has a ring.
std::uint64_t least_memory(std::uint16_t lanes);
// With a fresh nonce. `limit`: of the rate at the start, 0: none; where it `moves`, it is kept
// beside the terms.
session::Offer make_offer(const Plan& plan, const config::ClientSettings& settings,
                          std::uint16_t lanes, BitRate limit, bool moves);

}  // namespace lambda::client
