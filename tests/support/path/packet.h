// IP packets as they come out of a TUN device: where their parts lie, and how to damage them so
// that a kernel still takes them (lengths and checksums agree afterwards). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lambda::path {

using Packet = std::vector<std::uint8_t>;
using IpAddress = std::array<std::uint8_t, 16>;  // IPv4 in the first four bytes

enum class Transport { udp, tcp, other };

// A fragment and an IPv6 packet with extension headers count as `other`.
struct Layout {
    int version = 4;
    Transport transport = Transport::other;
    std::size_t transport_at = 0;  // offset of the UDP or TCP header
    std::size_t payload_at = 0;    // offset of what follows it
    std::size_t end = 0;           // by the IP header's length field
};

// Nothing if this is no well-formed IPv4 or IPv6 packet.
std::optional<Layout> parse(const Packet& packet);

struct Endpoint {
    IpAddress ip{};
    std::uint16_t port = 0;
    auto operator<=>(const Endpoint&) const = default;
};
Endpoint source(const Packet& packet, const Layout& layout);
Endpoint destination(const Packet& packet, const Layout& layout);

struct TcpFlags {
    bool fin, syn, rst, ack;
};
TcpFlags tcp_flags(const Packet& packet, const Layout& layout);

// Flips bit `bit` of the UDP payload, counted from its start. The payload must have that bit.
void flip_bit(Packet& packet, const Layout& layout, std::size_t bit);

// Shortens a UDP datagram to `keep` bytes of payload, at most what it has.
void truncate(Packet& packet, const Layout& layout, std::size_t keep);

// Resets that both ends of a TCP packet's connection accept if the packet itself is dropped: by
// RFC 5961 their numbers must be exactly the next ones expected. The one to the source needs an
// acknowledgement number in the packet.
std::optional<Packet> reset_to_source(const Packet& packet, const Layout& layout);
Packet reset_to_destination(const Packet& packet, const Layout& layout);

}  // namespace lambda::path
