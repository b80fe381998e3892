// How many stripes one more transfer may have. A stripe costs what it costs however little it
// carries: a timer and an ACK in each SYN at both ends. Transfers that run beside each other keep
// the processors busy by themselves, and many stripes of each then only share out the same packets:
// 64 transfers of 4 stripes moved four fifths on two processors of what they move with one stripe
// each (docs/performance.md). Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lambda::server {

constexpr std::size_t kStripesOfProcessor = 16;

// Beside `running` others, of at most `most`. Alone it may have all.
inline std::uint16_t stripe_share(std::uint16_t most, std::size_t processors, std::size_t running) {
    if (running == 0) return most;
    const std::size_t share = kStripesOfProcessor * processors / (running + 1);
    return static_cast<std::uint16_t>(std::clamp<std::size_t>(share, 1, most));
}

}  // namespace lambda::server
