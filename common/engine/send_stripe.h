// The sender's end of one stripe: its numbers, its path, the burst that is being built, the pings
// that show its tail. Engine thread. Nothing is allocated for a packet.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/units.h"
#include "common/engine/setup.h"
#include "common/sabul/path_probe.h"
#include "common/sabul/send_flow.h"
#include "common/sabul/socket_room.h"
#include "common/transfer/source.h"

namespace lambda::engine {

// Packets of one burst, sealed together and handed to the socket in one call. They are built in
// `room`, which all stripes share, so that it stays in the processor's cache; a long text that its
// cipher leaves as it is goes out from the block. A burst that has to wait is kept.
class Burst {
  public:
    static constexpr std::size_t kMaxBytes = 65507;  // what UDP over IPv4 takes in one send
    static constexpr std::size_t kMaxPackets = 64;

    // `room` has kMaxBytes, and is another burst's from keep() or clear() on.
    Burst(bool leaves_text, std::byte* room)
        : leaves_text_(leaves_text),
          room_(room),
          kept_(std::make_unique_for_overwrite<std::byte[]>(kMaxBytes)) {}
    bool empty() const { return packets_ == 0; }
    std::size_t packets() const { return packets_; }
    std::size_t segment_bytes() const { return segment_; }
    std::size_t file_bytes() const { return file_bytes_; }
    sabul::PacketNumber first_number() const { return first_number_; }
    std::span<const ByteView> parts() const { return std::span(parts_).first(part_count_); }
    // What lies in a block stays there until it was told of, or its file has failed. But where a
    // tag covers the text, what was overtaken must not come changed: it would be taken for damage.
    ports::Text text() const {
        return packets_ == 1 && part_count_ == 3 && jobs_[0].bare ? ports::Text::lasts
                                                                  : ports::Text::passes;
    }
    // Whether a packet of `wire_bytes` may follow: none after a shorter one, all of one size
    // before.
    bool takes(std::size_t wire_bytes) const;
    // Whether so much text goes out from where it lies.
    bool leaves(std::size_t text_bytes) const;
    // Room for one packet; its header is the caller's to write.
    std::byte* add(const ports::SealJob& job, std::size_t wire_bytes, std::size_t file_bytes);
    void seal(ports::PacketCipher& cipher) { cipher.seal(std::span(jobs_).first(packets_)); }
    // Before another burst is built, or the blocks of its packets may change: from here on it has
    // bytes of its own.
    void keep();
    void clear() { packets_ = bytes_ = used_ = part_count_ = segment_ = file_bytes_ = 0; }

  private:
    void append(ByteView part);

    const bool leaves_text_;
    std::byte* room_;
    std::unique_ptr<std::byte[]> kept_;
    std::array<ports::SealJob, kMaxPackets> jobs_{};
    std::array<ByteView, ports::DatagramSocket::kMostParts> parts_{};
    std::size_t part_count_ = 0;
    std::size_t packets_ = 0;
    std::size_t bytes_ = 0;  // of all parts
    std::size_t used_ = 0;   // of room_
    std::size_t segment_ = 0;
    std::size_t file_bytes_ = 0;
    sabul::PacketNumber first_number_ = 0;
};

struct SendStripe {
    SendStripe(std::uint16_t number, const Setup& setup, std::byte* room);

    std::uint16_t index;
    ports::DatagramSocket& socket;
    const StripeCiphers& ciphers;
    std::size_t stripes_on_socket = 1;  // of the receiver
    sabul::SendFlow flow;
    sabul::PathProbe probe;
    Burst burst;  // not empty: the socket would block, the same bytes go again
    std::optional<std::uint64_t> block;  // what it is sending, by index

    Address peer;                          // where datagrams go; unset until it is known and proven
    sabul::PacketNumber reverse_next = 0;  // numbers of the receiver's packets below were seen
    struct Challenge {
        Address to;
        std::array<std::byte, 16> text{};
    };
    std::optional<Challenge> challenge;

    std::array<std::size_t, 2> sizes{};  // of the last packets with file bytes
    std::size_t peer_buffer = 0;         // what the receiver's socket holds; 0: not told yet
    Time last_sent{};
    Time last_received{};    // an acknowledgement, or nothing was open
    bool suspended = false;  // its path carries nothing: pings alone
    Duration ping_pause{0};  // doubles
    Time last_state{};
    std::uint32_t told_rtt_us = 0;
    std::uint64_t acked_bytes = 0;
    std::uint64_t bytes = 0, packets = 0, retransmitted = 0, peer_refused = 0;
    std::uint64_t told_lost = 0, late = 0;  // late: came after they were told lost
    std::uint64_t lost() const { return told_lost - std::min(told_lost, late); }

    struct Manner {
        std::size_t padding = 0;  // zeros, in place of file bytes
        bool copy = false;        // its places are told of another
        bool bare = false;        // where its text is left to its leaf's digest
    };
    // Puts a packet with the next number into the burst.
    void add_packet(sabul::PacketType type, const transfer::Cut& cut, const Manner& manner,
                    Time now);
    // Sends one packet outside the flow of data. Nothing happens while a burst waits.
    void send_alone(sabul::PacketType type, std::size_t padding, ByteView text, const Address& to,
                    Time now);

    std::size_t tag_bytes() const { return ciphers.data->tag_bytes(); }
    // File bytes (and digest) for a packet now, at this rate of the stripe.
    std::size_t payload(const session::Terms& terms, BitRate rate) const;
    // No SYN fits into a round trip, as far as is known: the receiver's socket holds more than the
    // path.
    bool short_path(Duration syn) const;
    // Bytes of which nothing is told that there may be then, so that the receiver's socket never
    // overflows.
    std::size_t buffer_limit() const;
    // By the shorter of the last two packets with file bytes.
    sabul::SocketRoom peer_room() const { return {peer_buffer, std::min(sizes[0], sizes[1])}; }
};

}  // namespace lambda::engine
