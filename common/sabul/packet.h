// The packet header, docs/protocol.md §6, and the 64-bit numbers behind the 32 on the wire. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/base/cursor.h"

namespace lambda::sabul {

using PacketNumber = std::uint64_t;

constexpr std::size_t kHeaderBytes = 16;
constexpr std::uint8_t kVersion = 1;

enum class PacketType : std::uint8_t {
    data = 1,
    ping = 2,
    hello = 3,
    challenge = 4,
    answer = 5,
    probe = 6,
};

// Flags.
constexpr std::uint8_t kLeafEnd = 1;  // the text ends with a leaf's digest
constexpr std::uint8_t kBare = 2;     // in clear the tag covers the header alone

struct Header {
    PacketType type = PacketType::data;
    std::uint8_t flags = 0;
    std::uint16_t flow = 0;
    std::uint32_t number = 0;  // low half
    std::uint64_t place = 0;
};

void encode(const Header& header, std::byte* to);
// Nothing for a short packet, another version or an unknown type.
std::optional<Header> decode(ByteView packet);

// The 64-bit number nearest to `expected` whose low half is `low`.
PacketNumber full_number(std::uint32_t low, PacketNumber expected);

}  // namespace lambda::sabul
