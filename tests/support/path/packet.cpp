#include "tests/support/path/packet.h"

#include <algorithm>

namespace lambda::path {
namespace {

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kTcpHeader = 20;
constexpr std::uint8_t kFin = 1, kSyn = 2, kRst = 4, kAck = 16;

std::uint16_t get16(const Packet& packet, std::size_t at) {
    return static_cast<std::uint16_t>(packet[at] << 8 | packet[at + 1]);
}

std::uint32_t get32(const Packet& packet, std::size_t at) {
    return static_cast<std::uint32_t>(get16(packet, at)) << 16 | get16(packet, at + 2);
}

void put16(Packet& packet, std::size_t at, std::size_t value) {
    packet[at] = static_cast<std::uint8_t>(value >> 8);
    packet[at + 1] = static_cast<std::uint8_t>(value);
}

void put32(Packet& packet, std::size_t at, std::uint32_t value) {
    put16(packet, at, value >> 16);
    put16(packet, at + 2, value & 0xffff);
}

std::size_t addresses_at(int version) {
    return version == 4 ? 12 : 8;
}
std::size_t address_size(int version) {
    return version == 4 ? 4 : 16;
}

// RFC 1071's sum, without the last complement.
std::uint32_t sum(const Packet& packet, std::size_t from, std::size_t to, std::uint32_t start) {
    std::uint64_t total = start;
    for (; from + 1 < to; from += 2) total += get16(packet, from);
    if (from < to) total += static_cast<std::uint64_t>(packet[from]) << 8;
    while (total >> 16) total = (total & 0xffff) + (total >> 16);
    return static_cast<std::uint32_t>(total);
}

void fix_checksums(Packet& packet, const Layout& layout) {
    if (layout.version == 4) {
        put16(packet, 10, 0);
        put16(packet, 10, ~sum(packet, 0, layout.transport_at, 0));
    }
    const bool udp = layout.transport == Transport::udp;
    const std::size_t at = layout.transport_at + (udp ? 6 : 16);
    put16(packet, at, 0);
    const std::size_t length = layout.end - layout.transport_at;
    const std::size_t addresses = addresses_at(layout.version);
    std::uint32_t total = static_cast<std::uint32_t>(length) + (udp ? kUdp : kTcp);
    total = sum(packet, addresses, addresses + 2 * address_size(layout.version), total);
    total = ~sum(packet, layout.transport_at, layout.end, total) & 0xffff;
    put16(packet, at, udp && total == 0 ? 0xffff : total);
}

void set_lengths(Packet& packet, Layout& layout, std::size_t end) {
    layout.end = end;
    packet.resize(end);
    if (layout.version == 4) {
        put16(packet, 2, end);
    } else {
        put16(packet, 4, end - kIpv6Header);
    }
    if (layout.transport == Transport::udp) {
        put16(packet, layout.transport_at + 4, end - layout.transport_at);
    }
}

Endpoint endpoint(const Packet& packet, const Layout& layout, std::size_t which) {
    Endpoint end;
    const std::size_t size = address_size(layout.version);
    std::copy_n(
        packet.begin() + static_cast<std::ptrdiff_t>(addresses_at(layout.version) + which * size),
        size, end.ip.begin());
    end.port = get16(packet, layout.transport_at + 2 * which);
    return end;
}

// A bare TCP header in the direction of `packet`, with this number and the RST flag.
Packet make_reset(const Packet& packet, const Layout& layout, std::uint32_t number) {
    Layout bare = layout;
    Packet reset(packet.begin(),
                 packet.begin() + static_cast<std::ptrdiff_t>(layout.transport_at + kTcpHeader));
    const std::size_t at = layout.transport_at;
    put32(reset, at + 4, number);
    put32(reset, at + 8, 0);
    reset[at + 12] = 5 << 4;
    reset[at + 13] = kRst;
    put16(reset, at + 14, 0);
    put16(reset, at + 18, 0);
    set_lengths(reset, bare, reset.size());
    fix_checksums(reset, bare);
    return reset;
}

}  // namespace

std::optional<Layout> parse(const Packet& packet) {
    if (packet.size() < 20) return std::nullopt;
    Layout layout;
    layout.version = packet[0] >> 4;
    std::uint8_t protocol = 0;
    if (layout.version == 4) {
        layout.transport_at = (packet[0] & 0xf) * 4u;
        layout.end = get16(packet, 2);
        const bool fragment = (get16(packet, 6) & 0x3fff) != 0;
        protocol = fragment ? 0 : packet[9];
    } else if (layout.version == 6 && packet.size() >= kIpv6Header) {
        layout.transport_at = kIpv6Header;
        layout.end = kIpv6Header + get16(packet, 4);
        protocol = packet[6];
    } else {
        return std::nullopt;
    }
    if (layout.transport_at < 20 || layout.transport_at > layout.end ||
        layout.end > packet.size()) {
        return std::nullopt;
    }
    const std::size_t rest = layout.end - layout.transport_at;
    if (protocol == kUdp && rest >= kUdpHeader) {
        layout.transport = Transport::udp;
        layout.payload_at = layout.transport_at + kUdpHeader;
    } else if (protocol == kTcp && rest >= kTcpHeader) {
        layout.transport = Transport::tcp;
        layout.payload_at = layout.transport_at + (packet[layout.transport_at + 12] >> 4) * 4u;
        if (layout.payload_at > layout.end) return std::nullopt;
    }
    return layout;
}

Endpoint source(const Packet& packet, const Layout& layout) {
    return endpoint(packet, layout, 0);
}
Endpoint destination(const Packet& packet, const Layout& layout) {
    return endpoint(packet, layout, 1);
}

TcpFlags tcp_flags(const Packet& packet, const Layout& layout) {
    const std::uint8_t flags = packet[layout.transport_at + 13];
    return {(flags & kFin) != 0, (flags & kSyn) != 0, (flags & kRst) != 0, (flags & kAck) != 0};
}

void flip_bit(Packet& packet, const Layout& layout, std::size_t bit) {
    packet[layout.payload_at + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    fix_checksums(packet, layout);
}

void truncate(Packet& packet, const Layout& layout, std::size_t keep) {
    Layout shorter = layout;
    set_lengths(packet, shorter, layout.payload_at + keep);
    fix_checksums(packet, shorter);
}

std::optional<Packet> reset_to_source(const Packet& packet, const Layout& layout) {
    if (!tcp_flags(packet, layout).ack) return std::nullopt;
    Packet turned = packet;
    const auto addresses =
        turned.begin() + static_cast<std::ptrdiff_t>(addresses_at(layout.version));
    const auto size = static_cast<std::ptrdiff_t>(address_size(layout.version));
    std::swap_ranges(addresses, addresses + size, addresses + size);
    put16(turned, layout.transport_at, get16(packet, layout.transport_at + 2));
    put16(turned, layout.transport_at + 2, get16(packet, layout.transport_at));
    return make_reset(turned, layout, get32(packet, layout.transport_at + 8));
}

Packet reset_to_destination(const Packet& packet, const Layout& layout) {
    return make_reset(packet, layout, get32(packet, layout.transport_at + 4));
}

}  // namespace lambda::path
