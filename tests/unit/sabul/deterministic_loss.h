// A window law on a path that answers at once and loses every n-th packet: the conditions under
// which response functions are stated.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "common/sabul/congestion/window_law.h"

namespace lambda::sabul {

inline WindowLaw without_syn(std::unique_ptr<WindowRule> rule) {
    return WindowLaw({.initial = BitRate{100e6}, .syn = Duration{0}}, std::move(rule));
}

struct DeterministicLoss {
    WindowLaw law;
    Duration rtt;
    double every;  // packets from one loss to the next
    Time now = Time(std::chrono::hours(1));
    PacketNumber number = 0;

    // The mean window over `losses` of them.
    double mean_window(int losses) {
        const Time start = now;
        double packets = 0;
        for (int i = 0; i < losses; ++i) {
            for (double left = every; left >= 1;) {
                // A quarter of a round trip at a time.
                const double some = std::floor(std::clamp(law.packets() / 4, 1.0, left));
                now += from_seconds(seconds(rtt) * some / law.packets());
                number += static_cast<PacketNumber>(some);
                law.on_ack({.now = now,
                            .packets = static_cast<std::uint64_t>(some),
                            .passages = {},
                            .rtt = rtt,
                            .latest_rtt = rtt,
                            .min_rtt = rtt});
                left -= some;
                packets += some;
            }
            ++number;
            law.on_loss({.now = now,
                         .packets = 1,
                         .lowest = number,
                         .largest_sent = number,
                         .first_sent = now,
                         .last_sent = now,
                         .rtt = rtt});
        }
        return packets * seconds(rtt) / seconds(now - start);
    }
};

// After so many losses that the start is forgotten.
inline double mean_window(std::unique_ptr<WindowRule> rule, Duration rtt, double loss,
                          int forgotten = 80) {
    DeterministicLoss path{without_syn(std::move(rule)), rtt, 1 / loss};
    path.mean_window(forgotten);
    return path.mean_window(40);
}

}  // namespace lambda::sabul
