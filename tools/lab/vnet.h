// The header before each packet that a TUN device reads or takes, as linux/virtio_net.h has it
// (that file is no C++). Numbers are the machine's.
#pragma once

#include <cstdint>

namespace lambda::lab {

struct VnetHeader {
    std::uint8_t flags = 0;
    std::uint8_t segmentation = 0;
    std::uint16_t header_bytes = 0;
    std::uint16_t segment_bytes = 0;
    std::uint16_t checksum_start = 0;   // from the begin of the packet
    std::uint16_t checksum_offset = 0;  // from there
};
static_assert(sizeof(VnetHeader) == 10);

// In the checksum's place is the sum of the pseudo header alone; whoever needs it does the rest.
constexpr std::uint8_t kNeedsChecksum = 1;

constexpr std::uint8_t kOnePacket = 0, kTcpIpv4 = 1, kTcpIpv6 = 4;
constexpr std::uint8_t kUdp = 5;  // Linux 6.2 and later

}  // namespace lambda::lab
