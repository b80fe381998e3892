// The network between two hosts in virtual time: what a datagram meets on its way, and the sockets
// at both ends, which are the engines' own port. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "common/ports/datagrams.h"
#include "tools/sim/link.h"
#include "tools/sim/pauses.h"
#include "tools/sim/world.h"

namespace lambda::simulation {

class Host;

Address address(unsigned host, std::uint16_t port);

// One direction. Loss comes before the bottleneck, the delay after it.
struct Path {
    Duration delay = std::chrono::milliseconds(5);
    double loss = 0, duplicate = 0, reorder = 0, truncate = 0, flip = 0;
    double burst =
        1;  // mean length of a run of losses; loss is at most burst / (burst + 1) above 1
    Duration reorder_by = std::chrono::milliseconds(2);
    Duration jitter{0};             // uniform, on top of the delay; order is kept
    std::size_t largest = 65507;    // longer datagrams vanish on the way
    std::size_t first_hop = 65507;  // longer ones are refused by the socket
    bool dead = false;
    bool lends = false;          // a text that lasts is read when it arrives, not when it is sent
    Link* access = nullptr;      // of the sending host alone
    Link* bottleneck = nullptr;  // shared
    const Pauses* pauses = nullptr;
    struct Counters {
        std::uint64_t bursts = 0;  // sends, of one datagram or several
        std::uint64_t sent = 0, lost = 0, duplicated = 0, reordered = 0, truncated = 0, flipped = 0;
        // Of what comes to the sockets that send on it: lent, and no more what was sent; put where
        // it was wanted.
        std::uint64_t changed = 0, apart = 0;
    } counters;

    // Whether random loss takes the next packet.
    bool loses(World& world);

  private:
    bool losing_ = false;
};

// One UDP socket; two of them face each other, or one faces several where ports are shared.
class VirtualSocket final : public ports::DatagramSocket {
  public:
    VirtualSocket(World& world, Path& path, Address own, Host& owner)
        : world_(world), path_(path), own_(own), owner_(owner) {}
    void reach(VirtualSocket& other) { others_[other.own_.port] = &other; }

    ports::SendOutcome send(std::span<const ByteView> parts, std::size_t segment_bytes, ports::Text,
                            const Address& to) override;
    std::span<ports::Arrival> receive(const ports::TextPlaces& places) override;
    std::uint64_t dropped() const override { return dropped_; }
    std::size_t receive_buffer_bytes() const override { return buffer_bytes; }
    std::size_t largest_datagram(const Address&) override { return path_.first_hop; }
    std::size_t max_segments() const override { return segments_told_ ? 1 : 64; }

    // A datagram that arrives at `due`.
    void inject(std::vector<std::byte> datagram, const Address& from, Time due);
    // When the next datagram is there; kNever.
    Time next_due() const { return inbox_.empty() ? kNever : inbox_.front().due; }

    std::size_t buffer_bytes = 4u << 20;
    bool overflows = false;  // what does not fit into the buffer is dropped
    bool segments = true;    // the interface takes more than one datagram at a time
    double busy = 0;         // share of bursts that find the socket full
    std::uint64_t times_busy = 0;
    Duration stamp_noise{0};  // uniform: how late the host's times of arrival are
    // Every datagram that was handed to the network, as an attacker on the path would keep it.
    std::vector<std::vector<std::byte>>* tap = nullptr;
    std::map<Address, std::uint64_t>* sent_to = nullptr;

  private:
    struct Datagram {
        std::vector<std::byte> bytes;
        ByteView lent;  // where its text was taken from; empty: it is its own
        Address from;
        Time due{}, stamp{};
    };
    void overflow();
    void carry(ByteView datagram, ByteView lent, VirtualSocket& to);
    void arrive(Datagram datagram, VirtualSocket& to);
    void cross(Datagram datagram, VirtualSocket& to);
    void put(Datagram datagram);
    void read_again(Datagram& datagram);
    std::vector<std::byte> buffer(ByteView content);
    void scatter(ports::Arrival& arrival, ByteSpan& room, std::size_t each);

    World& world_;
    Path& path_;
    Address own_;
    Host& owner_;
    std::map<std::uint16_t, VirtualSocket*> others_;
    std::deque<Datagram> inbox_;  // by time of arrival
    bool segments_told_ = false;  // that it does not
    std::vector<std::byte> burst_;
    std::vector<ports::Arrival> arrivals_{64};
    std::vector<std::vector<std::byte>> taken_;
    std::vector<std::vector<std::byte>> spare_;
    Time last_due_{};
    std::uint64_t dropped_ = 0;
};

}  // namespace lambda::simulation
