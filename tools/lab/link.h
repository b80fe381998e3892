// One direction of the path: what happens to a packet between the two hosts. In this order: dead
// path, MTU, random loss, queue and rate, duplication, reordering, jitter, delay. All delay comes
// after the queue, the sending host's too: only the sum matters to who sends, and what the queue
// drops is never stored. Pure; one thread; `now` never goes back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/time.h"
#include "tools/lab/bottleneck.h"
#include "tools/lab/loss.h"
#include "tools/lab/path.h"
#include "tools/lab/random.h"
#include "tools/lab/ring.h"

namespace lambda::lab {

struct Burst;

// A packet as the path knows it: where its bytes are is its owner's matter.
struct Packet {
    Burst* burst = nullptr;   // the owner's
    std::uint16_t index = 0;  // the owner's
    std::uint16_t bytes = 0;  // of the IP packet
    std::uint8_t lane = 0;    // which pair of hosts
    std::uint8_t to = 0;      // the owner's
    std::uint8_t flow = 0;    // its number (flow_table.h)
    bool twice = false;       // to be delivered twice in succession
};

enum class Fate { queued, dead, too_long, lost, dropped };

struct LinkCounters {
    std::uint64_t offered_packets = 0, offered_bytes = 0;
    std::uint64_t passed_packets = 0, passed_bytes = 0;  // left the queue
    std::uint64_t dead = 0, too_long = 0, lost = 0, dropped = 0;
    std::uint64_t duplicated = 0, reordered = 0;
    QueueFigures queue;
    double utilisation = 0;                 // of what the rate allowed
    std::vector<std::uint64_t> flow_bytes;  // of those that passed, by number; 0 beyond its end
    Duration delay{0};                      // one way, the hosts' aside, as it is now
};

class Link {
  public:
    // `lanes` has the hosts' delays of each pair. `timetable` tells only how slow the rate can get.
    Link(Time now, const LinkSpec& spec, std::vector<Duration> lanes, BitRate slowest,
         std::uint64_t seed);

    // A packet that is not queued is the caller's again.
    Fate offer(Time now, const Packet& packet);
    // The next packet whose time of arrival has come; it is the caller's again.
    struct Arrival {
        Packet packet;
        Time due;
    };
    std::optional<Arrival> take(Time now);
    // Nothing arrives before; kNever.
    Time next_due() const;

    void apply(Time now, const Change& change);
    void reset_counters(Time now);
    LinkCounters counters(Time now);

  private:
    struct Waiting {
        Bottleneck::Position end;
        Packet packet;
    };
    // Those of a pair of hosts that arrive in order.
    struct Lane {
        Duration delay;
        Ring<Arrival> arrivals;
        Time last_due{};
    };
    struct Later {
        bool operator()(const Arrival& a, const Arrival& b) const { return a.due > b.due; }
    };

    void advance(Time now);
    void depart(Time when, Packet packet);
    std::optional<std::size_t> first_lane() const;

    Impairments impairments_;
    const std::uint32_t mtu_;
    Bottleneck bottleneck_;
    LossProcess loss_;
    Random random_;
    Time dead_until_{};
    Duration least_delay_;
    Ring<Waiting> queue_;
    std::vector<Lane> lanes_;
    std::vector<Arrival> overtakers_;  // a heap: those that do not arrive in order
    LinkCounters counters_;
};

}  // namespace lambda::lab
