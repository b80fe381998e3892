#include "tools/lab/flow_table.h"

#include <random>
#include <vector>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::lab;

namespace {

constexpr std::uint8_t kTcp = 6, kUdp = 17, kIcmp = 1, kIcmpv6 = 58;
constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51,
                       kDestination = 60;

using Bytes = std::vector<std::byte>;

void put_ports(std::byte* at, std::uint16_t from, std::uint16_t to) {
    store_u16(at, from);
    store_u16(at + 2, to);
}

// From 10.77.1.1 to 10.77.2.1, with options where `header` is more than 20.
Bytes ipv4(std::uint8_t protocol, std::uint16_t from = 50000, std::uint16_t to = 40000,
           std::size_t header = 20) {
    Bytes packet(header + 20);
    packet[0] = static_cast<std::byte>(0x40 | header / 4);
    packet[9] = static_cast<std::byte>(protocol);
    store_u32(packet.data() + 12, 0x0a4d0101);
    store_u32(packet.data() + 16, 0x0a4d0201);
    put_ports(packet.data() + header, from, to);
    return packet;
}

// From fd77::1:1 to fd77::2:1; `next` names what follows, which begins with `rest`.
Bytes ipv6(std::uint8_t next, const Bytes& rest) {
    Bytes packet(40);
    packet[0] = std::byte{0x60};
    packet[6] = static_cast<std::byte>(next);
    store_u16(packet.data() + 8, 0xfd77);
    store_u32(packet.data() + 20, 0x00010001);
    store_u16(packet.data() + 24, 0xfd77);
    store_u32(packet.data() + 36, 0x00020001);
    packet.insert(packet.end(), rest.begin(), rest.end());
    return packet;
}

Bytes transport() {
    Bytes bytes(20);
    put_ports(bytes.data(), 50000, 40000);
    return bytes;
}

// A header of so many bytes before `rest`; `length` is how it tells them.
Bytes extension(std::uint8_t next, std::uint8_t length, std::size_t bytes, const Bytes& rest) {
    Bytes packet(bytes);
    packet[0] = static_cast<std::byte>(next);
    packet[1] = static_cast<std::byte>(length);
    packet.insert(packet.end(), rest.begin(), rest.end());
    return packet;
}

Bytes fragment(std::uint8_t next, std::uint16_t offset_and_more, const Bytes& rest) {
    Bytes packet = extension(next, 0, 8, rest);
    store_u16(packet.data() + 2, offset_and_more);
    return packet;
}

std::string name(const Bytes& packet) {
    const auto flow = flow_of(packet);
    return flow ? flow_name(*flow) : "none";
}

const std::string kUdp4 = "10.77.1.1:50000 > 10.77.2.1:40000 UDP";
const std::string kTcp6 = "[fd77::1:1]:50000 > [fd77::2:1]:40000 TCP";

}  // namespace

TEST_CASE("a flow is its addresses, its protocol and its ports") {
    CHECK(name(ipv4(kUdp)) == kUdp4);
    CHECK(name(ipv4(kTcp)) == "10.77.1.1:50000 > 10.77.2.1:40000 TCP");
    CHECK(name(ipv4(kUdp, 50000, 40000, 60)) == kUdp4);
    CHECK(name(ipv6(kTcp, transport())) == kTcp6);
    CHECK(name(ipv4(kIcmp)) == "10.77.1.1 > 10.77.2.1 ICMP");
    CHECK(name(ipv6(kIcmpv6, transport())) == "[fd77::1:1] > [fd77::2:1] ICMP");
    CHECK(name(ipv4(132)) == "10.77.1.1 > 10.77.2.1 protocol 132");
    CHECK(flow_name(flow_of(ipv4(kUdp))->answer()) == "10.77.2.1:40000 > 10.77.1.1:50000 UDP");
}

TEST_CASE("ports stand behind the headers between") {
    const Bytes tcp = transport();
    const Bytes routed = extension(kTcp, 2, 24, tcp);
    CHECK(name(ipv6(kRouting, routed)) == kTcp6);
    CHECK(name(ipv6(kHopByHop, extension(kRouting, 0, 8, routed))) == kTcp6);
    CHECK(name(ipv6(kAuthentication, extension(kTcp, 4, 24, tcp))) == kTcp6);
    CHECK(name(ipv6(kDestination, extension(kTcp, 0, 8, tcp))) == kTcp6);
    CHECK(name(ipv6(kFragment, fragment(kTcp, 0, tcp))) == kTcp6);  // of one piece
}

TEST_CASE("all fragments of a datagram are of one flow") {
    const std::string whole = "10.77.1.1 > 10.77.2.1 UDP";
    Bytes packet = ipv4(kUdp);
    store_u16(packet.data() + 6, 0x4000);  // not to be cut
    CHECK(name(packet) == kUdp4);
    // The first, one between, the last.
    for (const unsigned piece : {0x2000u, 0x2001u, 0x00b9u}) {
        CAPTURE(piece);
        store_u16(packet.data() + 6, static_cast<std::uint16_t>(piece));
        CHECK(name(packet) == whole);
        const auto six = static_cast<std::uint16_t>((piece & 0x1fff) << 3 | piece >> 13);
        CHECK(name(ipv6(kFragment, fragment(kUdp, six, transport()))) ==
              "[fd77::1:1] > [fd77::2:1] UDP");
    }
}

TEST_CASE("of packets that are cut short or lie there is what they have") {
    CHECK(name({}) == "none");
    Bytes packet = ipv4(kUdp);
    packet[0] = std::byte{0x55};  // no version of IP
    CHECK(name(packet) == "none");
    packet[0] = std::byte{0x44};  // a header shorter than IPv4's
    CHECK(name(packet) == "10.77.1.1 > 10.77.2.1 UDP");
    packet[0] = std::byte{0x4f};  // one that is longer than the packet
    CHECK(name(packet) == "10.77.1.1 > 10.77.2.1 UDP");
    packet[0] = std::byte{0x45};
    packet.resize(23);
    CHECK(name(packet) == "10.77.1.1 > 10.77.2.1 UDP");
    packet.resize(19);
    CHECK(name(packet) == "none");

    CHECK(name(ipv6(kTcp, {})) == "[fd77::1:1] > [fd77::2:1] TCP");
    CHECK(name(ipv6(kRouting, extension(kTcp, 255, 24, transport()))) ==
          "[fd77::1:1] > [fd77::2:1] TCP");
    CHECK(name(ipv6(kRouting, Bytes(7))) == "[fd77::1:1] > [fd77::2:1] protocol 43");
    packet = ipv6(kTcp, {});
    packet.resize(39);
    CHECK(name(packet) == "none");
    // More headers than anybody sends: no search through all of them.
    Bytes chain = transport();
    for (int i = 0; i < 100; ++i) chain = extension(i == 0 ? kTcp : kDestination, 0, 8, chain);
    CHECK(name(ipv6(kDestination, chain)) == "[fd77::1:1] > [fd77::2:1] protocol 60");
}

TEST_CASE("no packet is read beyond its end") {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> byte(0, 255), size(0, 80);
    for (int i = 0; i < 20'000; ++i) {
        // Of a size of its own, so that a sanitizer sees what is read beyond.
        Bytes packet(static_cast<std::size_t>(size(random)));
        for (std::byte& each : packet) each = static_cast<std::byte>(byte(random));
        if (packet.size() > 6) {
            constexpr std::uint8_t kAny[] = {kHopByHop, kRouting, kFragment, kAuthentication, kTcp};
            packet[0] = static_cast<std::byte>(i % 2 == 0 ? 0x40 | byte(random) % 16 : 0x60);
            packet[6] = static_cast<std::byte>(kAny[byte(random) % 5]);
        }
        const auto flow = flow_of(packet);
        const bool has_header = !packet.empty() && packet.size() >= (i % 2 == 0 ? 20u : 40u);
        if (has_header) REQUIRE(flow);
    }
}

TEST_CASE("flows are numbered as they come, whatever came between") {
    FlowTable table;
    CHECK(table.number_of(ipv4(kUdp, 1, 1)) == 1);
    CHECK(table.number_of(ipv4(kTcp, 1, 1)) == 2);
    CHECK(table.number_of(ipv6(kTcp, transport())) == 3);
    CHECK(table.number_of({}) == FlowTable::kOthers);
    CHECK(table.number_of(ipv4(kTcp, 1, 1)) == 2);
    CHECK(table.number_of(ipv4(kUdp, 1, 1)) == 1);
    CHECK(table.number_of(ipv4(kUdp, 1, 1)) == 1);
    REQUIRE(table.flows().size() == 3);
    CHECK(flow_name(table.flows()[2]) == kTcp6);
}

TEST_CASE("more flows than the table holds share a number") {
    FlowTable table;
    for (std::uint16_t round = 0; round < 2; ++round) {
        for (std::uint16_t i = 1; i <= FlowTable::kMost + 100; ++i) {
            const bool fits = i <= FlowTable::kMost;
            REQUIRE(table.number_of(ipv4(kUdp, 7, i)) == (fits ? i : FlowTable::kOthers));
        }
    }
    CHECK(table.flows().size() == FlowTable::kMost);
}
