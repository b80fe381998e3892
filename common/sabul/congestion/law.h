// Congestion control as an interface: samples in, a rate and a window out, no pointer back to its
// owner. A law sees neither capacity nor settings of the path. Rates are of file bytes. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/time.h"
#include "common/base/units.h"
#include "common/sabul/packet.h"

namespace lambda::sabul {

struct LawSettings {
    BitRate initial{100e6};
    BitRate highest{0};  // 0: none
    BitRate known{0};    // that the path carried lately; 0: none
    Duration syn = std::chrono::milliseconds(10);
    std::uint64_t seed = 0;  // for laws that draw
    bool competes = true;    // beside flows that fill queues; else gives way to them wholly
};

// When a packet left by the sender's clock and arrived by the receiver's, which need not agree:
// only differences of like times mean anything.
struct Passage {
    Time sent{};
    Duration arrived{0};
};

// What an ACK brought.
struct AckSample {
    Time now{};
    std::uint16_t stripe = 0;
    std::uint64_t packets = 0;  // newly received, by the receiver's own count
    std::uint64_t bytes = 0;    // file bytes of them
    std::uint64_t late = 0;     // among them, those that were told as lost before
    // Up to sixteen, spread over the ACK's interval, in order; the last is the largest number's.
    std::span<const Passage> passages;
    Duration rtt{0};         // smoothed
    Duration latest_rtt{0};  // of this ACK; 0: it tells none
    Duration min_rtt{0};     // of the last 10 s or so
};

// What a NAK brought: losses that were never told before.
struct LossSample {
    Time now{};
    std::uint16_t stripe = 0;
    std::uint64_t packets = 0;
    PacketNumber lowest = 0;         // the lowest number among them
    PacketNumber largest_sent = 0;   // the largest number sent so far
    Time first_sent{}, last_sent{};  // when the first and the last of them left
    Duration rtt{0};
};

// What happened from one SYN tick of the sender's own clock to the next.
struct SynSample {
    Time now{};
    Duration elapsed{0};  // measured, never assumed
    std::uint64_t sent_packets = 0;
    std::uint64_t lost_packets = 0;  // newly lost, late arrivals taken off
    Duration rtt{0};                 // smoothed; of the slowest stripe
    Duration min_rtt{0};
    double packet_bytes = 1440;  // file bytes in a full packet now
    bool limited = false;        // by credit, source or CPU: the rate was not used
};

class Law {
  public:
    virtual ~Law() = default;
    virtual void on_ack(const AckSample& sample) = 0;
    virtual void on_loss(const LossSample& sample) = 0;
    virtual void on_syn(const SynSample& sample) = 0;
    virtual BitRate rate() const = 0;
    // Bytes that may be in flight.
    virtual double window() const = 0;
    // Nothing is sent before this time.
    virtual Time frozen_until() const { return Time{}; }
};

}  // namespace lambda::sabul
