// What an end of a transfer measures of itself while data flow: how long its thread was busy, and
// what it waited for the rest of the time (docs/verdict.md). The other end hears of it by SPENT
// (docs/protocol.md §4), in the order of Figure: a new one goes to the end. Values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lambda::verdict {

enum class Figure : std::uint8_t {
    // Of both ends, in microseconds, since the first data packet.
    elapsed,
    cpu,      // that the thread was given, since it began
    busy,     // awake, or kept from the processor
    stalled,  // stood still for more than half a second at a time
    // Of the sender, in microseconds: what it waited for when it did not send.
    source,      // reads, opens, directories
    memory,      // its own ring is full of what is on its way
    credit,      // the receiver's ring is full
    window,      // that the user set
    law_window,  // that the law sets
    buffer,      // the receiver's socket holds no more in a round trip
    pace,        // the law's rate
    limit,       // the law's rate, which is the rate limit
    socket,      // the interface's queue
    tail,        // all was sent, not all acknowledged
    finish,      // all was acknowledged, not all done
    silence,     // no connection, or no acknowledgements
    // Of the receiver: microseconds in which most of its ring waited for the disk, or all of it.
    disk,
    // Counts.
    sent,   // sender: data packets
    lost,   // sender
    drops,  // receiver: by its full sockets
    // Bytes.
    receive_buffer,  // receiver: of one socket
    // Sender, in microseconds.
    least_rtt,
    queue,          // mean of what round trips were longer than the least
    queue_at_loss,  // likewise, when losses were heard of
    // Sender, in file bytes a second: the most that was acknowledged in 100 ms or a round trip.
    carried,
};
constexpr std::size_t kFigures = static_cast<std::size_t>(Figure::carried) + 1;

// As in JSON.
const char* name_of(Figure figure);

class Figures {
  public:
    std::uint64_t& operator[](Figure figure) { return values_[static_cast<std::size_t>(figure)]; }
    std::uint64_t operator[](Figure figure) const {
        return values_[static_cast<std::size_t>(figure)];
    }
    bool known() const { return (*this)[Figure::elapsed] > 0; }
    // Of the elapsed time; 0 where nothing is known.
    double share(Figure figure) const {
        return known() ? static_cast<double>((*this)[figure]) /
                             static_cast<double>((*this)[Figure::elapsed])
                       : 0;
    }
    std::array<std::uint64_t, kFigures>& values() { return values_; }
    const std::array<std::uint64_t, kFigures>& values() const { return values_; }

  private:
    std::array<std::uint64_t, kFigures> values_{};
};

}  // namespace lambda::verdict
