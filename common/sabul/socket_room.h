// How much of a receiver's socket may be filled, and how much of that is told at once. What is said
// of a socket is half of what its kernel counts, which counts what it keeps a datagram in: twice
// its bytes and more, but of one of some pages, which never crossed a wire, hardly more than them
// (sock(7), SO_RCVBUF; docs/decisions/0021). Linux gives back a quarter late
// (net/ipv4/udp.c, udp_rmem_release). Bytes.
#pragma once

#include <algorithm>
#include <cstddef>

namespace lambda::sabul {

class SocketRoom {
  public:
    // `buffer`: what the socket is said to hold. `datagram`: one of those that it holds.
    constexpr SocketRoom(std::size_t buffer, std::size_t datagram)
        : buffer_(buffer), small_(datagram >= kLong && buffer < kSmall) {}

    // Long datagrams, and few of them fit.
    bool small() const { return small_; }
    // What may be in it.
    std::size_t usable() const { return small_ ? buffer_ + buffer_ / 8 : buffer_ * 3 / 4; }
    // What may be in so many like it together. Of those that are not small one is enough: more
    // leaves the processor's cache before it is read.
    std::size_t together(std::size_t sockets) const {
        return small_ ? std::max(usable(), std::min(sockets * usable(), kSmall * 3 / 4)) : usable();
    }
    // What is told without a wait.
    std::size_t told() const { return small_ ? buffer_ * 3 / 8 : buffer_ / 4; }
    // A handful of datagrams must fit, else each one waits for the one before.
    std::size_t datagram() const { return buffer_ / 6; }

  private:
    static constexpr std::size_t kLong = 16384;
    // Of more, what is usable anyway is as much as two processors hand over well.
    static constexpr std::size_t kSmall = std::size_t{1} << 20;

    std::size_t buffer_;
    bool small_;
};

}  // namespace lambda::sabul
