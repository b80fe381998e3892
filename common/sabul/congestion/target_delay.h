// The queueing delay that a flow of `sabul` aims at by itself: less for more, so that all flows of
// a queue, which see the same delay, have the same rate where they are at rest
// (docs/congestion.md).
#pragma once

#include <algorithm>
#include <cmath>

namespace lambda::sabul {

// Of a rate in bytes a second; seconds. From 1 Gbit/s on it falls with the fourth root alone: what
// the processors between two programs and on their hosts are late by does not become less with the
// rate, and who took that for a queue would give way to nobody.
inline double target_delay(double rate) {
    constexpr double kPacket = 1440;         // bytes; the unit of the target delay's rate
    constexpr double kTargetDelay = 0.0866;  // s sqrt(packets/s): 0.3 ms at 1 Gbit/s
    constexpr double kFast = 1e9 / 8 / kPacket;
    const double packets = std::max(rate / kPacket, 1.0);
    return kTargetDelay / std::sqrt(std::min(packets, std::sqrt(packets * kFast)));
}

}  // namespace lambda::sabul
