#include "tools/lab/burst.h"

#include <array>
#include <cstring>
#include <new>
#include <numeric>
#include <vector>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::lab;

namespace {

constexpr std::size_t kIpv4 = 20, kIpv6 = 40, kTcp = 20, kUdpHead = 8;
constexpr std::uint32_t kSequence = 0xfffffff0;  // wraps within the burst

// A burst as the kernel gives it, in memory of its own.
class Sample {
  public:
    Sample(std::uint8_t kind, std::size_t payload, std::uint16_t segment)
        : memory_(sizeof(Burst) + 200 + payload) {
        const bool six = kind == kTcpIpv6, udp = kind == kUdp;
        const std::size_t ip = six ? kIpv6 : kIpv4, transport = udp ? kUdpHead : kTcp;
        burst_ = new (memory_.data()) Burst;
        burst_->bytes = static_cast<std::uint32_t>(ip + transport + payload);
        burst_->vnet = {.flags = kNeedsChecksum,
                        .segmentation = kind,
                        .header_bytes = static_cast<std::uint16_t>(ip + transport),
                        .segment_bytes = segment,
                        .checksum_start = static_cast<std::uint16_t>(ip),
                        .checksum_offset = static_cast<std::uint16_t>(udp ? 6 : 16)};
        std::byte* const at = burst_->content().data();
        if (six) {
            at[0] = std::byte{0x60};
            at[6] = std::byte{6};
            for (std::size_t i = 8; i < 40; ++i) at[i] = static_cast<std::byte>(i);
        } else {
            at[0] = std::byte{0x45};
            store_u16(at + 2, static_cast<std::uint16_t>(burst_->bytes));
            store_u16(at + 4, 0xffff);  // identification
            at[8] = std::byte{64};
            at[9] = udp ? std::byte{17} : std::byte{6};
            store_u32(at + 12, 0x0a4d0101);
            store_u32(at + 16, 0x0a4d0201);
        }
        if (!udp) {
            store_u32(at + ip + 4, kSequence);
            at[ip + 12] = std::byte{0x50};
            at[ip + 13] = std::byte{0x99};  // CWR, ACK, PSH, FIN
        }
        for (std::size_t i = 0; i < payload; ++i) {
            at[ip + transport + i] = static_cast<std::byte>(i % 251);
        }
    }
    Burst& burst() { return *burst_; }

  private:
    std::vector<std::byte> memory_;
    Burst* burst_;
};

// What is written: the header for the kernel, then the packet.
struct Written {
    VnetHeader vnet;
    std::vector<std::byte> packet;
};

Written written(const Burst& burst, unsigned first, unsigned count) {
    std::array<std::byte, sizeof(VnetHeader) + kMostHeaderBytes> header;
    const Cut cut = lab::cut(burst, first, count, header);
    Written written;
    std::memcpy(&written.vnet, header.data(), sizeof(VnetHeader));
    written.packet.assign(header.begin() + sizeof(VnetHeader),
                          header.begin() + static_cast<std::ptrdiff_t>(cut.header_bytes));
    written.packet.insert(written.packet.end(), cut.payload.begin(), cut.payload.end());
    return written;
}

std::uint32_t sum(ByteView bytes) {
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 2) total += load_u16(bytes.data() + i);
    while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
    return total;
}

}  // namespace

TEST_CASE("a burst of TCP is cut as a card would") {
    Sample sample(kTcpIpv4, 3500, 1000);
    Burst& burst = sample.burst();
    REQUIRE(describe(burst));
    REQUIRE(burst.packets == 4);
    CHECK(packet_bytes(burst, 0) == 1040);
    CHECK(packet_bytes(burst, 3) == 540);
    for (unsigned i = 0; i < 4; ++i) {
        CAPTURE(i);
        const Written one = written(burst, i, 1);
        const std::byte* const at = one.packet.data();
        CHECK(one.vnet.segmentation == kOnePacket);
        CHECK(one.vnet.flags == kNeedsChecksum);
        CHECK(one.packet.size() == packet_bytes(burst, i));
        CHECK(load_u16(at + 2) == one.packet.size());
        CHECK(load_u16(at + 4) == static_cast<std::uint16_t>(0xffff + i));
        CHECK(sum(ByteView(one.packet).first(kIpv4)) == 0xffff);
        CHECK(load_u32(at + kIpv4 + 4) == kSequence + 1000 * i);
        // CWR on the first alone, PSH and FIN on the last.
        const unsigned flags = i == 0 ? 0x90 : i == 3 ? 0x19 : 0x10;
        CHECK(std::to_integer<unsigned>(at[kIpv4 + 13]) == flags);
        CHECK(at[kIpv4 + kTcp] == static_cast<std::byte>(1000 * i % 251));
        // The pseudo header's sum: addresses, protocol, length.
        const std::uint32_t pseudo = sum(ByteView(one.packet).subspan(12, 8)) + 6 +
                                     static_cast<std::uint32_t>(one.packet.size() - kIpv4);
        CHECK(load_u16(at + kIpv4 + 16) == (pseudo & 0xffff) + (pseudo >> 16));
    }
}

TEST_CASE("a run of packets stays together") {
    Sample sample(kTcpIpv4, 3500, 1000);
    REQUIRE(describe(sample.burst()));
    const Written middle = written(sample.burst(), 1, 2);
    CHECK(middle.vnet.segmentation == kTcpIpv4);
    CHECK(middle.vnet.segment_bytes == 1000);
    CHECK(middle.packet.size() == kIpv4 + kTcp + 2000);
    CHECK(load_u32(middle.packet.data() + kIpv4 + 4) == kSequence + 1000);
    const Written whole = written(sample.burst(), 0, 4);
    const ByteView content = sample.burst().content();
    CHECK(whole.packet == std::vector(content.begin(), content.end()));
    CHECK(whole.vnet.segment_bytes == 1000);
}

TEST_CASE("a burst of UDP and one over IPv6") {
    Sample udp(kUdp, 2500, 1200);
    REQUIRE(describe(udp.burst()));
    REQUIRE(udp.burst().packets == 3);
    const Written last = written(udp.burst(), 2, 1);
    CHECK(last.packet.size() == kIpv4 + kUdpHead + 100);
    CHECK(load_u16(last.packet.data() + kIpv4 + 4) == kUdpHead + 100);

    Sample tiny(kUdp, 10, 4);
    REQUIRE(describe(tiny.burst()));
    CHECK(tiny.burst().packets == 3);

    Sample six(kTcpIpv6, 2500, 1200);
    REQUIRE(describe(six.burst()));
    const Written first = written(six.burst(), 0, 1);
    CHECK(load_u16(first.packet.data() + 4) == kTcp + 1200);
    std::uint32_t pseudo = sum(ByteView(first.packet).subspan(8, 32)) + 6 + kTcp + 1200;
    CHECK(load_u16(first.packet.data() + kIpv6 + 16) == (pseudo & 0xffff) + (pseudo >> 16));
}

TEST_CASE("a single packet passes as it is") {
    Sample sample(kTcpIpv4, 100, 1000);
    sample.burst().vnet.segmentation = kOnePacket;
    REQUIRE(describe(sample.burst()));
    CHECK(sample.burst().packets == 1);
    CHECK(packet_bytes(sample.burst(), 0) == 140);
    const Written one = written(sample.burst(), 0, 1);
    const ByteView content = sample.burst().content();
    CHECK(one.packet == std::vector(content.begin(), content.end()));
}

TEST_CASE("what cannot be cut is refused") {
    const auto refused = [](auto spoil) {
        Sample sample(kTcpIpv4, 3000, 1000);
        spoil(sample.burst());
        return !describe(sample.burst());
    };
    CHECK(refused([](Burst& b) { b.vnet.segmentation = 3; }));  // fragments of UDP
    CHECK(refused([](Burst& b) { b.vnet.segment_bytes = 0; }));
    CHECK(refused([](Burst& b) { b.vnet.flags = 0; }));
    CHECK(refused([](Burst& b) { b.vnet.checksum_start = 0; }));
    CHECK(refused([](Burst& b) { b.vnet.checksum_start = 3030; }));
    CHECK(refused([](Burst& b) { b.bytes = 30; }));
    CHECK(refused([](Burst& b) { b.bytes = 40; }));
    CHECK(refused([](Burst& b) { b.content()[kIpv4 + 12] = std::byte{0x10}; }));
}

TEST_CASE("the destination is read from the address, others are strays") {
    Sample four(kTcpIpv4, 10, 10);
    REQUIRE(destination(four.burst().content()));
    CHECK(destination(four.burst().content())->end == 2);
    CHECK(destination(four.burst().content())->host == 1);
    four.burst().content()[17] = std::byte{78};
    CHECK_FALSE(destination(four.burst().content()));
    Sample six(kTcpIpv6, 10, 10);
    CHECK_FALSE(destination(six.burst().content()));
    std::byte* const to = six.burst().content().data() + 24;
    std::memset(to, 0, 16);
    store_u16(to, 0xfd77);
    store_u16(to + 12, 1);
    store_u16(to + 14, 3);
    REQUIRE(destination(six.burst().content()));
    CHECK(destination(six.burst().content())->end == 1);
    CHECK(destination(six.burst().content())->host == 3);
    CHECK_FALSE(destination(ByteView{}));
    CHECK_FALSE(destination(four.burst().content().first(10)));
}
