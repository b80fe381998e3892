// What one read of a TUN device gives: one packet, or several that the kernel left together for a
// card to cut (vnet.h). The path treats each by itself; here is how many they are, how
// long each is, and the headers for any run of them that leaves together again. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/cursor.h"
#include "tools/lab/vnet.h"

namespace lambda::lab {

// IPv6's with options, and TCP's with all of its options.
constexpr std::size_t kMostHeaderBytes = 512;
constexpr std::size_t kMostPacketBytes = 65535 + 40;

// In memory right before the bytes of the packet; the last member is what the read wrote.
struct Burst {
    std::uint32_t bytes = 0;          // of the whole packet
    std::uint16_t header_bytes = 0;   // IP and transport; 0: a single packet, passed as it is
    std::uint16_t segment_bytes = 0;  // of payload in each packet but the last
    std::uint16_t packets = 1;
    VnetHeader vnet;

    ByteView content() const { return {reinterpret_cast<const std::byte*>(this + 1), bytes}; }
    ByteSpan content() { return {reinterpret_cast<std::byte*>(this + 1), bytes}; }
};
static_assert(offsetof(Burst, vnet) + sizeof(VnetHeader) == sizeof(Burst));

// A run of packets of one burst as it is written: the header in `header`, then `payload`.
struct Cut {
    std::size_t header_bytes = 0;  // the VnetHeader among them
    ByteView payload;
};

// Fills in what follows from `vnet`, `bytes` and the packet. False: nothing that can be cut.
bool describe(Burst& burst);

std::uint16_t packet_bytes(const Burst& burst, unsigned index);

// `header` has room for sizeof(VnetHeader) + kMostHeaderBytes.
Cut cut(const Burst& burst, unsigned first, unsigned count, ByteSpan header);

// The last two numbers of the destination's address: 10.77.x.y and fd77::x:y. Nothing for others.
struct HostNumber {
    std::uint8_t end = 0;
    std::uint8_t host = 0;
};
std::optional<HostNumber> destination(ByteView packet);

}  // namespace lambda::lab
