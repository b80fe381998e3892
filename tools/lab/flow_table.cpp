#include "tools/lab/flow_table.h"

#include <algorithm>

#include "config/endpoint.h"

namespace lambda::lab {
namespace {

constexpr std::uint8_t kTcp = 6, kUdp = 17, kIcmp = 1, kIcmpv6 = 58;
constexpr std::size_t kIpv4Header = 20, kIpv6Header = 40;

// Headers of IPv6 that another one follows, and no more of them than anybody sends.
constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51,
                       kDestination = 60;
constexpr std::size_t kLeastExtension = 8;
constexpr int kMostExtensions = 8;

std::uint8_t u8(ByteView packet, std::size_t at) {
    return std::to_integer<std::uint8_t>(packet[at]);
}

void take_ports(ByteView packet, std::size_t at, Flow& flow) {
    if ((flow.protocol != kTcp && flow.protocol != kUdp) || packet.size() < at + 4) return;
    flow.from.port = load_u16(packet.data() + at);
    flow.to.port = load_u16(packet.data() + at + 2);
}

// As IPv6 writes it (common/base/address.h).
Address mapped(ByteView ipv4) {
    Address address;
    address.ip[10] = address.ip[11] = std::byte{0xff};
    std::copy(ipv4.begin(), ipv4.end(), address.ip.begin() + 12);
    return address;
}

Flow ipv4_flow(ByteView packet) {
    constexpr unsigned kMoreOrOffset = 0x3fff;
    Flow flow{.from = mapped(packet.subspan(12, 4)),
              .to = mapped(packet.subspan(16, 4)),
              .protocol = u8(packet, 9)};
    const std::size_t header = std::size_t{u8(packet, 0) & 0x0fu} * 4;
    const bool whole = (load_u16(packet.data() + 6) & kMoreOrOffset) == 0;
    if (whole && header >= kIpv4Header) take_ports(packet, header, flow);
    return flow;
}

Flow ipv6_flow(ByteView packet) {
    constexpr unsigned kMoreOrOffset = 0xfff9;
    Flow flow{.from = {}, .to = {}, .protocol = u8(packet, 6)};
    std::copy_n(packet.begin() + 8, 16, flow.from.ip.begin());
    std::copy_n(packet.begin() + 24, 16, flow.to.ip.begin());
    std::size_t at = kIpv6Header;
    for (int i = 0; i < kMostExtensions && packet.size() >= at + kLeastExtension; ++i) {
        const std::size_t length = u8(packet, at + 1);
        const std::size_t header = at;
        switch (flow.protocol) {
            case kHopByHop:
            case kRouting:
            case kDestination:
                at += (length + 1) * 8;
                break;
            case kAuthentication:
                at += (length + 2) * 4;
                break;
            case kFragment:
                at += 8;
                break;
            default:
                take_ports(packet, at, flow);
                return flow;
        }
        const bool part = flow.protocol == kFragment &&
                          (load_u16(packet.data() + header + 2) & kMoreOrOffset) != 0;
        flow.protocol = u8(packet, header);
        if (part) return flow;
    }
    return flow;
}

std::string protocol_name(std::uint8_t protocol) {
    switch (protocol) {
        case kTcp:
            return "TCP";
        case kUdp:
            return "UDP";
        case kIcmp:
        case kIcmpv6:
            return "ICMP";
        default:
            return "protocol " + std::to_string(protocol);
    }
}

std::string end_name(const Address& end) {
    const std::string name = config::format_endpoint(end);
    return end.set() ? name : name.substr(0, name.rfind(':'));
}

}  // namespace

std::optional<Flow> flow_of(ByteView packet) {
    const unsigned version = packet.empty() ? 0 : u8(packet, 0) >> 4;
    if (version == 4 && packet.size() >= kIpv4Header) return ipv4_flow(packet);
    if (version == 6 && packet.size() >= kIpv6Header) return ipv6_flow(packet);
    return std::nullopt;
}

std::string flow_name(const Flow& flow) {
    return end_name(flow.from) + " > " + end_name(flow.to) + " " + protocol_name(flow.protocol);
}

std::size_t FlowTable::Hash::operator()(const Flow& flow) const {
    // Hosts of one network differ in the last bytes.
    std::uint64_t mixed = flow.protocol;
    for (const std::uint64_t word :
         {load_u64(flow.from.ip.data() + 8), load_u64(flow.to.ip.data() + 8),
          std::uint64_t{flow.from.port} << 16 | flow.to.port}) {
        mixed = (mixed ^ word) * 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio
        mixed ^= mixed >> 32;
    }
    return mixed;
}

std::uint8_t FlowTable::number_of(ByteView packet) {
    const auto flow = flow_of(packet);
    if (!flow) return kOthers;
    if (*flow == last_) return last_number_;
    std::uint8_t number = kOthers;
    if (const auto known = numbers_.find(*flow); known != numbers_.end()) {
        number = known->second;
    } else if (flows_.size() < kMost) {
        flows_.push_back(*flow);
        number = static_cast<std::uint8_t>(flows_.size());
        numbers_.emplace(*flow, number);
    }
    last_ = *flow;
    last_number_ = number;
    return number;
}

}  // namespace lambda::lab
