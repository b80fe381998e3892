// What a path is: the two directions of its bottleneck, the hosts at its ends, and what changes
// when. Read from YAML by path_file.h, described for people in docs/lab.md. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/time.h"
#include "common/base/units.h"

namespace lambda::lab {

// Of the numbering of addresses, and of how long a search among pairs of hosts may take.
constexpr std::size_t kMostHosts = 16;
constexpr std::uint32_t kLeastMtu = 576;  // IPv4's (RFC 791); IPv6 is left out below 1280
constexpr std::uint32_t kMostMtu = 65000;

struct Loss {
    double rate = 0;   // of packets
    double burst = 1;  // mean number of packets that are lost in a row; 1: independent
    bool operator==(const Loss&) const = default;
};

struct Reorder {
    double rate = 0;  // of packets
    Duration by = std::chrono::milliseconds(1);
    bool operator==(const Reorder&) const = default;
};

// What the timetable can change.
struct Impairments {
    BitRate rate{1e9};
    Duration delay{0};   // one way, beside that of the hosts
    Duration jitter{0};  // uniform from 0 to this, added; keeps the order
    Loss loss;
    double duplicate = 0;  // of packets
    Reorder reorder;
    bool operator==(const Impairments&) const = default;
};

// How the queue's length is given: not at all (1 BDP, but never fewer than 100 packets), as a
// multiple of rate times mean round trip, or in bytes.
enum class QueueBy { usual, bdp, bytes };

// One direction of the bottleneck. Bytes are those of whole IP packets.
struct LinkSpec {
    Impairments impairments;
    QueueBy queue_by = QueueBy::usual;
    double queue_bdp = 0;     // where it is given by that
    std::uint64_t queue = 0;  // bytes, the packet in transmission among them
    std::uint32_t mtu = 0;    // longer packets vanish; 0: none
    bool operator==(const LinkSpec&) const = default;
};

enum class End { left, right };

struct HostSpec {
    std::string name;
    End end = End::left;
    Duration delay{0};  // between host and bottleneck, each way
    std::uint32_t mtu = 1500;
    std::string congestion;  // the kernel's TCP; empty: as the machine has it
    std::vector<std::pair<std::string, std::string>> sysctls;  // below net., in the host
    bool operator==(const HostSpec&) const = default;
};

// A step at `at` after the main command began. What it does not name stays.
struct Change {
    Duration at{0};
    bool forward = true;  // which directions
    bool backward = true;
    std::optional<BitRate> rate;
    std::optional<Duration> delay;
    std::optional<Duration> jitter;
    std::optional<Loss> loss;
    std::optional<double> duplicate;
    std::optional<Reorder> reorder;
    Duration dead{0};  // for so long everything that arrives vanishes
    bool operator==(const Change&) const = default;
};

struct PathSpec {
    LinkSpec forward;   // left to right
    LinkSpec backward;  // right to left
    std::vector<HostSpec> hosts;
    std::vector<Change> timetable;  // by time
    bool operator==(const PathSpec&) const = default;
};

// One way between a left and a right host, without queue and jitter, before any change.
Duration one_way(const LinkSpec& link, const HostSpec& left, const HostSpec& right);

// Over all pairs of a left and a right host, before any change.
Duration mean_round_trip(const PathSpec& path);

// What the packets on the way and in the queues can take at most, in bytes.
double most_bytes_in_flight(const PathSpec& path);

}  // namespace lambda::lab
