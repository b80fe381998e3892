// What a path does to packets, and how often it did. Chances are percent of the packets concerned.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "tests/support/path/packet.h"

namespace lambda::path {

struct Impairments {
    double loss = 0;
    double duplicate = 0;
    double reorder = 0;   // held back by reorder_ms
    double flip = 0;      // one bit of a UDP payload
    double truncate = 0;  // a UDP datagram, to a random shorter length
    double reorder_ms = 5;
    double delay_ms = 0;  // each direction
    double mtu = 0;       // larger packets vanish, as in a black hole; 0: no limit
    double all = 0;       // not 0: loss, duplicate and reorder strike other packets than UDP too

    // False if there is no such name or the value is no number >= 0.
    bool set(std::string_view name, std::string_view value);
};

struct Counters {
    std::uint64_t packets = 0, bytes = 0;          // that came in
    std::uint64_t udp_packets = 0, udp_bytes = 0;  // of them, UDP; bytes of payload
    std::uint64_t lost = 0, duplicated = 0, reordered = 0, flipped = 0, truncated = 0;
    std::uint64_t too_big = 0, stalled = 0, cut = 0, dead = 0;
    std::uint64_t overflow = 0;   // the delay queue was full
    std::uint64_t unwritten = 0;  // the kernel did not take it
    std::string to_json() const;
};

// Rolls the dice for one packet at a time; the same seed gives the same sequence.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    bool hit(double percent);
    std::size_t below(std::size_t bound);  // 0 to bound - 1; bound > 0

  private:
    std::mt19937_64 engine_;
};

}  // namespace lambda::path
