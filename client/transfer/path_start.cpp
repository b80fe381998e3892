#include "client/transfer/path_start.h"

#include <algorithm>

#include "client/home/home.h"
#include "client/home/path_memory.h"

namespace lambda::client {

PathStart::PathStart(const Plan& plan, const config::ClientSettings& settings, std::uint16_t beside)
    : beside_(beside) {
    if (plan.trial || settings.initial_rate.bits_per_second > 0 ||
        settings.congestion != session::Terms{}.congestion)
        return;
    const bool put = plan.direction == session::Direction::put;
    // Hosts that share a home have paths of their own.
    path_ = (put ? "put " : "get ") + host_name() + " " + plan.server.endpoint();
}

void PathStart::apply(const Connection& connection, BitRate limit, session::Terms& terms) const {
    if (!path_) return;
    const auto known = PathMemory::of_user().find(*path_);
    const auto round_trip = connection.round_trip();
    if (!known || !round_trip || !is_known(*known, *round_trip)) return;
    const BitRate part{start_of(*known).bits_per_second / beside_};
    terms.initial_rate = lower(std::max(part, terms.initial_rate), limit);
    terms.known_rate = {known->carried.bits_per_second / beside_};
}

void PathStart::learn(const engine::Outcome& outcome) const {
    if (!path_) return;
    const verdict::Figures& sender = outcome.evidence.sender;
    const std::uint64_t carried = sender[verdict::Figure::carried];
    const std::uint64_t us = sender[verdict::Figure::least_rtt];
    if (carried > UINT64_MAX / 8) return;
    if (const auto known = known_path(8 * carried, us)) PathMemory::of_user().keep(*path_, *known);
}

}  // namespace lambda::client
