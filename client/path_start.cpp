#include "client/path_start.h"

#include <algorithm>

#include "client/home.h"
#include "client/path_memory.h"

namespace lambda::client {

PathStart::PathStart(const Plan& plan, const config::ClientSettings& settings) {
    if (plan.trial || settings.initial_rate.bits_per_second > 0) return;
    const bool put = plan.direction == session::Direction::put;
    // Hosts that share a home have paths of their own.
    path_ = (put ? "put " : "get ") + host_name() + " " + plan.server.endpoint();
}

void PathStart::apply(const Connection& connection, session::Terms& terms) const {
    if (!path_) return;
    const auto known = PathMemory::of_user().find(*path_);
    const auto round_trip = connection.round_trip();
    const auto start = known && round_trip ? start_of(*known, *round_trip) : std::nullopt;
    if (!start) return;
    const BitRate highest = terms.highest_rate;
    terms.initial_rate = highest.bits_per_second > 0 ? std::min(*start, highest) : *start;
}

void PathStart::learn(const engine::Outcome& outcome) const {
    if (!path_) return;
    const verdict::Figures& sender = outcome.evidence.sender;
    const std::uint64_t carried = sender[verdict::Figure::carried];
    const std::uint64_t us = sender[verdict::Figure::least_rtt];
    if (carried == 0 || us == 0) return;
    PathMemory::of_user().keep(*path_, {.carried = BitRate{8.0 * static_cast<double>(carried)},
                                        .round_trip = std::chrono::microseconds(us)});
}

}  // namespace lambda::client
