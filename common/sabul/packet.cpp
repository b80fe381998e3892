#include "common/sabul/packet.h"

namespace lambda::sabul {

void encode(const Header& header, std::byte* to) {
    to[0] = static_cast<std::byte>(kVersion << 4 | static_cast<std::uint8_t>(header.type));
    to[1] = static_cast<std::byte>(header.flags);
    store_u16(to + 2, header.flow);
    store_u32(to + 4, header.number);
    store_u64(to + 8, header.place);
}

std::optional<Header> decode(ByteView packet) {
    if (packet.size() < kHeaderBytes) return std::nullopt;
    const auto first = std::to_integer<std::uint8_t>(packet[0]);
    const std::uint8_t type = first & 15;
    if (first >> 4 != kVersion) return std::nullopt;
    if (type < static_cast<std::uint8_t>(PacketType::data) ||
        type > static_cast<std::uint8_t>(PacketType::probe)) {
        return std::nullopt;
    }
    return Header{.type = static_cast<PacketType>(type),
                  .flags = std::to_integer<std::uint8_t>(packet[1]),
                  .flow = load_u16(&packet[2]),
                  .number = load_u32(&packet[4]),
                  .place = load_u64(&packet[8])};
}

PacketNumber full_number(std::uint32_t low, PacketNumber expected) {
    constexpr PacketNumber kSpan = 1ull << 32;
    PacketNumber candidate = (expected & ~(kSpan - 1)) | low;
    if (candidate + kSpan / 2 < expected) return candidate + kSpan;
    if (candidate > expected + kSpan / 2 && candidate >= kSpan) return candidate - kSpan;
    return candidate;
}

}  // namespace lambda::sabul
