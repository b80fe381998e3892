#include "tools/lab/burst.h"

#include <algorithm>
#include <cstring>

namespace lambda::lab {
namespace {

constexpr std::byte kTcpProtocol{6}, kUdpProtocol{17};
constexpr std::size_t kUdpHeader = 8, kTcpHeader = 20, kIpv4Header = 20, kIpv6Header = 40;
constexpr std::size_t kTcpFlags = 13;
constexpr std::byte kFin{0x01}, kPsh{0x08}, kCwr{0x80};

bool is_ipv4(ByteView packet) {
    return std::to_integer<unsigned>(packet[0]) >> 4 == 4;
}

// The one's complement sum of RFC 1071, not folded.
std::uint32_t sum16(ByteView bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += load_u16(bytes.data() + i);
    return sum;
}

std::uint16_t fold(std::uint32_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
}

// Of header and payload; what kNeedsChecksum wants to find in the checksum's place.
std::uint16_t pseudo_header_sum(ByteView ip, std::byte protocol, std::size_t bytes) {
    const ByteView addresses = is_ipv4(ip) ? ip.subspan(12, 8) : ip.subspan(8, 32);
    return fold(sum16(addresses) + std::to_integer<std::uint32_t>(protocol) +
                static_cast<std::uint32_t>(bytes));
}

void set_ip(ByteSpan ip, std::size_t ip_bytes, std::size_t packet_bytes, unsigned index) {
    if (!is_ipv4(ip)) {
        store_u16(ip.data() + 4, static_cast<std::uint16_t>(packet_bytes - kIpv6Header));
        return;
    }
    store_u16(ip.data() + 2, static_cast<std::uint16_t>(packet_bytes));
    store_u16(ip.data() + 4, static_cast<std::uint16_t>(load_u16(ip.data() + 4) + index));
    store_u16(ip.data() + 10, 0);
    store_u16(ip.data() + 10, static_cast<std::uint16_t>(~fold(sum16(ip.first(ip_bytes)))));
}

}  // namespace

bool describe(Burst& burst) {
    burst.packets = 1;
    burst.header_bytes = 0;
    if (burst.vnet.segmentation == kOnePacket) return true;

    const std::uint8_t type = burst.vnet.segmentation;
    const bool udp = type == kUdp;
    if (!udp && type != kTcpIpv4 && type != kTcpIpv6) return false;
    const ByteView packet = burst.content();
    const std::size_t transport = burst.vnet.checksum_start;
    const std::size_t least = packet.empty() || is_ipv4(packet) ? kIpv4Header : kIpv6Header;
    if ((burst.vnet.flags & kNeedsChecksum) == 0 || burst.vnet.segment_bytes == 0 ||
        transport < least || packet.size() < transport + (udp ? kUdpHeader : kTcpHeader)) {
        return false;
    }
    const std::size_t transport_bytes =
        udp ? kUdpHeader : std::to_integer<std::size_t>(packet[transport + 12] >> 4) * 4;
    const std::size_t header = transport + transport_bytes;
    if ((!udp && transport_bytes < kTcpHeader) || header > kMostHeaderBytes ||
        header >= packet.size()) {
        return false;
    }
    const std::size_t payload = packet.size() - header;
    burst.header_bytes = static_cast<std::uint16_t>(header);
    burst.segment_bytes = burst.vnet.segment_bytes;
    burst.packets =
        static_cast<std::uint16_t>((payload + burst.segment_bytes - 1) / burst.segment_bytes);
    return true;
}

std::uint16_t packet_bytes(const Burst& burst, unsigned index) {
    if (burst.header_bytes == 0) return static_cast<std::uint16_t>(burst.bytes);
    const std::size_t before = burst.header_bytes + std::size_t{index} * burst.segment_bytes;
    const std::size_t payload = std::min<std::size_t>(burst.bytes - before, burst.segment_bytes);
    return static_cast<std::uint16_t>(burst.header_bytes + payload);
}

Cut cut(const Burst& burst, unsigned first, unsigned count, ByteSpan header) {
    VnetHeader vnet = burst.vnet;
    vnet.flags &= kNeedsChecksum;
    const ByteView packet = burst.content();
    if (count == burst.packets) {
        std::memcpy(header.data(), &vnet, sizeof vnet);
        return {.header_bytes = sizeof vnet, .payload = packet};
    }

    const std::size_t begin = burst.header_bytes + std::size_t{first} * burst.segment_bytes;
    const std::size_t most = std::size_t{count} * burst.segment_bytes;
    const ByteView payload = packet.subspan(begin, std::min(most, packet.size() - begin));
    if (count == 1) {
        vnet.segmentation = kOnePacket;
        vnet.segment_bytes = 0;
    }
    std::memcpy(header.data(), &vnet, sizeof vnet);
    const ByteSpan headers = header.subspan(sizeof vnet, burst.header_bytes);
    std::memcpy(headers.data(), packet.data(), headers.size());

    const std::size_t ip_bytes = burst.vnet.checksum_start;
    const ByteSpan transport = headers.subspan(ip_bytes);
    const std::size_t transport_bytes = transport.size() + payload.size();
    set_ip(headers, ip_bytes, headers.size() + payload.size(), first);
    const bool udp = burst.vnet.segmentation == kUdp;
    if (udp) {
        store_u16(transport.data() + 4, static_cast<std::uint16_t>(transport_bytes));
    } else {
        store_u32(transport.data() + 4,
                  load_u32(transport.data() + 4) +
                      static_cast<std::uint32_t>(first) * burst.segment_bytes);
        if (first + count < burst.packets) transport[kTcpFlags] &= ~(kFin | kPsh);
        if (first > 0) transport[kTcpFlags] &= ~kCwr;
    }
    store_u16(transport.data() + burst.vnet.checksum_offset,
              pseudo_header_sum(headers, udp ? kUdpProtocol : kTcpProtocol, transport_bytes));
    return {.header_bytes = sizeof vnet + headers.size(), .payload = payload};
}

std::optional<HostNumber> destination(ByteView packet) {
    constexpr std::byte kNet{77}, kTen{10}, kLocal{0xfd};
    if (packet.size() >= kIpv4Header && is_ipv4(packet)) {
        if (packet[16] != kTen || packet[17] != kNet) return std::nullopt;
        return HostNumber{std::to_integer<std::uint8_t>(packet[18]),
                          std::to_integer<std::uint8_t>(packet[19])};
    }
    if (packet.size() >= kIpv6Header && std::to_integer<unsigned>(packet[0]) >> 4 == 6) {
        if (packet[24] != kLocal || packet[25] != std::byte{0x77}) return std::nullopt;
        return HostNumber{std::to_integer<std::uint8_t>(packet[37]),
                          std::to_integer<std::uint8_t>(packet[39])};
    }
    return std::nullopt;
}

}  // namespace lambda::lab
