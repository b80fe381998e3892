#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "common/io/clock.h"
#include "common/io/net/sockets.h"
#include "common/io/reactor.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::io;
using namespace std::chrono_literals;
using ports::SendOutcome;
using ports::Text;

namespace {

Address loopback(bool ipv6, std::uint16_t port = 0) {
    Address address;
    address.port = port;
    if (ipv6) {
        address.ip[15] = std::byte{1};
    } else {
        address.ip[10] = address.ip[11] = std::byte{0xff};
        address.ip[12] = std::byte{127};
        address.ip[15] = std::byte{1};
    }
    return address;
}

struct Pair {
    std::unique_ptr<Reactor> reactor = std::move(Reactor::make().value());
    std::unique_ptr<ports::DatagramSocket> server;
    std::unique_ptr<ports::DatagramSocket> client;
    Address server_address, client_address;
    SocketBuffers buffers;

    explicit Pair(bool ipv6, std::size_t buffer_bytes = 1u << 20) {
        server = std::move(
            make_udp_socket({loopback(ipv6), {}, buffer_bytes}, *reactor, &buffers).value());
        server_address = loopback(ipv6, local_port(*server));
        client = std::move(
            make_udp_socket({loopback(ipv6), server_address, buffer_bytes}, *reactor, nullptr)
                .value());
        client_address = loopback(ipv6, local_port(*client));
    }

    // Copies of the next `count` datagrams.
    std::vector<std::vector<std::byte>> take(ports::DatagramSocket& socket, std::size_t count,
                                             const Address& from) {
        std::vector<std::vector<std::byte>> taken;
        const Time limit = Clock().now() + 5s;
        while (taken.size() < count && Clock().now() < limit) {
            const auto arrivals = socket.receive({});
            if (arrivals.empty()) reactor->wait(limit);
            for (const ports::Arrival& each : arrivals) {
                CHECK(each.from == from);
                taken.emplace_back(each.bytes.begin(), each.bytes.end());
            }
        }
        return taken;
    }
};

std::vector<std::byte> numbered(std::size_t bytes) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 2654435761u >> 23);
    return out;
}

SendOutcome send(ports::DatagramSocket& socket, ByteView burst, std::size_t segment,
                 const Address& to) {
    return socket.send({&burst, 1}, segment, Text::passes, to);
}

}  // namespace

TEST_CASE("udp: a burst arrives as the datagrams that it was cut into") {
    const bool ipv6 = GENERATE(false, true);
    const std::size_t segment = GENERATE(512u, 1200u, 1472u, 8972u);
    CAPTURE(ipv6, segment);
    Pair pair(ipv6);
    CHECK(pair.server->max_segments() >= 1);
    const std::size_t segments = std::min(pair.client->max_segments(), 60000 / segment);
    const auto burst = numbered(segment * segments - segment / 3);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(send(*pair.client, burst, segment, pair.server_address) == SendOutcome::sent);
        const auto taken = pair.take(*pair.server, segments, pair.client_address);
        REQUIRE(taken.size() == segments);
        std::vector<std::byte> together;
        for (std::size_t k = 0; k < taken.size(); ++k) {
            CHECK(taken[k].size() == std::min(segment, burst.size() - k * segment));
            together.insert(together.end(), taken[k].begin(), taken[k].end());
        }
        CHECK(together == burst);
    }
    // And the way back, from a socket that is not connected.
    REQUIRE(send(*pair.server, burst, segment, pair.client_address) == SendOutcome::sent);
    CHECK(pair.take(*pair.client, segments, pair.server_address).size() == segments);
    CHECK(pair.server->receive({}).empty());
    CHECK(pair.server->dropped() == 0);
}

TEST_CASE("udp: texts come to where they are wanted, and others can be brought together") {
    Pair pair(GENERATE(false, true));
    const auto long_one = numbered(40000), short_one = numbered(50);
    const auto burst = numbered(3 * 1000);
    std::vector<std::byte> room(3 * 30000 + 7);
    const auto wait = [&](const ports::TextPlaces& wanted) {
        const Time limit = Clock().now() + 5s;
        auto arrivals = pair.server->receive(wanted);
        while (arrivals.empty() && Clock().now() < limit) {
            pair.reactor->wait(limit);
            arrivals = pair.server->receive(wanted);
        }
        return arrivals;
    };
    const auto put = [&](ByteView bytes, std::size_t segment) {
        REQUIRE(send(*pair.client, bytes, segment, pair.server_address) == SendOutcome::sent);
    };
    const auto together = [](ports::Arrival arrival) {
        arrival.gather();
        CHECK(arrival.apart.empty());
        return std::vector<std::byte>(arrival.bytes.begin(), arrival.bytes.end());
    };
    const ports::TextPlaces wanted{.room = room, .each = 30000};

    for (int i = 0; i < 6; ++i) put(long_one, long_one.size());
    auto arrivals = wait(wanted);
    REQUIRE(arrivals.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(arrivals[i].apart.data() == room.data() + i * 30000);
        CHECK(arrivals[i].apart.size() == (i < 3 ? 30000 : 7));
        CHECK(arrivals[i].bytes.size() == 40000 - arrivals[i].apart.size());
        CHECK(std::equal(arrivals[i].apart.begin(), arrivals[i].apart.end(),
                         long_one.begin() + ports::kHeaderBytes));
        CHECK(together(arrivals[i]) == long_one);
    }
    arrivals = wait({.room = {}, .each = 0, .most = 1});
    REQUIRE(arrivals.size() == 1);
    CHECK(arrivals[0].apart.empty());
    CHECK(together(arrivals[0]) == long_one);
    REQUIRE(wait({}).size() == 1);

    put(short_one, short_one.size());
    arrivals = wait(wanted);
    REQUIRE(arrivals.size() == 1);
    CHECK(arrivals[0].apart.size() == 50 - ports::kHeaderBytes);
    CHECK(together(arrivals[0]) == short_one);

    put(ByteView(short_one).first(ports::kHeaderBytes), ports::kHeaderBytes);
    arrivals = wait(wanted);
    REQUIRE(arrivals.size() == 1);
    CHECK(arrivals[0].apart.empty());
    CHECK(arrivals[0].bytes.size() == ports::kHeaderBytes);

    // What was sent together may come together, and is cut.
    put(burst, 1000);
    std::vector<std::byte> came;
    while (came.size() < burst.size()) {
        arrivals = wait(wanted);
        REQUIRE_FALSE(arrivals.empty());
        for (const ports::Arrival& each : arrivals) {
            const auto bytes = together(each);
            CHECK(bytes.size() == 1000);
            came.insert(came.end(), bytes.begin(), bytes.end());
        }
    }
    CHECK(came == burst);
}

TEST_CASE("udp: sockets that share their memory take their own datagrams, whole") {
    Pair pair(false);
    const auto share = std::move(make_socket_share().value());
    std::vector<std::unique_ptr<ports::DatagramSocket>> servers;
    for (int i = 0; i < 3; ++i) {
        servers.push_back(std::move(
            make_udp_socket({loopback(false), {}, 1u << 20, share}, *pair.reactor, nullptr)
                .value()));
    }
    // More than one call takes, of single bytes, as no sender of ours would cut them.
    const auto burst = numbered(64);
    for (std::size_t i = 0; i < servers.size(); ++i) {
        const Address to = loopback(false, local_port(*servers[i]));
        for (std::size_t k = 0; k < 20; ++k)
            REQUIRE(send(*pair.server, ByteView(burst).subspan(i), 1, to) == SendOutcome::sent);
    }
    for (std::size_t i = 0; i < servers.size(); ++i) {
        const std::size_t each = burst.size() - i;
        const auto taken = pair.take(*servers[i], 20 * each, pair.server_address);
        REQUIRE(taken.size() == 20 * each);
        for (std::size_t k = 0; k < taken.size(); ++k) {
            REQUIRE(taken[k].size() == 1);
            REQUIRE(taken[k][0] == burst[i + k % each]);
        }
        CHECK(servers[i]->receive({}).empty());
    }
}

TEST_CASE("udp: a burst of many parts arrives as one") {
    Pair pair(false);
    const auto burst = numbered(60000);
    const std::size_t many = GENERATE(2u, 3u, ports::DatagramSocket::kMostParts);
    std::vector<ByteView> parts;
    for (std::size_t i = 0; i < many; ++i) {
        const std::size_t from = burst.size() * i / many;
        parts.push_back(ByteView(burst).subspan(from, burst.size() * (i + 1) / many - from));
    }
    REQUIRE(pair.client->send(parts, 1200, Text::passes, pair.server_address) == SendOutcome::sent);
    const auto taken = pair.take(*pair.server, 50, pair.client_address);
    REQUIRE(taken.size() == 50);
    std::vector<std::byte> together;
    for (const auto& each : taken) together.insert(together.end(), each.begin(), each.end());
    CHECK(together == burst);
}

TEST_CASE("udp: what lasts arrives as it was, from wherever it lies") {
    const bool ipv6 = GENERATE(false, true);
    const std::size_t bytes = GENERATE(16u << 10, 32u << 10, 60000u, 61440u, 65000u);
    const std::size_t shift = GENERATE(0u, 1u, 4000u);
    CAPTURE(ipv6, bytes, shift);
    Pair pair(ipv6);
    const auto memory = numbered((1u << 20) + 4096);
    const std::size_t page = reinterpret_cast<std::uintptr_t>(memory.data()) % 4096;
    const auto header = numbered(16), tail = numbered(8);
    // By turns from a socket that is connected and from one that is not, others between.
    for (std::size_t i = 0; i < 12; ++i) {
        const ByteView text = ByteView(memory).subspan(4096 - page + i * 65536 + shift, bytes);
        const std::array<ByteView, 3> parts{header, text, tail};
        const bool forth = i % 2 == 0;
        ports::DatagramSocket& from = forth ? *pair.client : *pair.server;
        ports::DatagramSocket& to = forth ? *pair.server : *pair.client;
        const Address& at = forth ? pair.server_address : pair.client_address;
        const std::size_t whole = header.size() + bytes + tail.size();
        REQUIRE(from.send(parts, whole, Text::lasts, at) == SendOutcome::sent);
        REQUIRE(from.send(parts, 9000, Text::lasts, at) == SendOutcome::sent);
        const auto taken = pair.take(to, 1 + (whole + 8999) / 9000,
                                     forth ? pair.client_address : pair.server_address);
        REQUIRE(taken.size() == 1 + (whole + 8999) / 9000);
        REQUIRE(taken[0].size() == whole);
        CHECK(std::equal(header.begin(), header.end(), taken[0].begin()));
        CHECK(std::equal(text.begin(), text.end(), taken[0].begin() + 16));
        CHECK(std::equal(tail.begin(), tail.end(), taken[0].end() - 8));
        std::vector<std::byte> together;
        for (std::size_t k = 1; k < taken.size(); ++k)
            together.insert(together.end(), taken[k].begin(), taken[k].end());
        CHECK(together == taken[0]);
    }
}

TEST_CASE("udp: what lasts is not copied, what passes is") {
    Pair pair(false);
    const auto before = numbered(128u << 10);
    auto memory = before;
    const std::size_t page = reinterpret_cast<std::uintptr_t>(memory.data()) % 4096;
    const ByteView text =
        ByteView(memory).subspan(4096 - page, ports::DatagramSocket::kLastingText);
    const std::array<ByteView, 3> parts{ByteView(before).first(16), text,
                                        ByteView(before).first(8)};
    for (const Text kind : {Text::passes, Text::lasts}) {
        REQUIRE(pair.client->send(parts, 65000, kind, pair.server_address) == SendOutcome::sent);
    }
    std::fill(memory.begin(), memory.end(), std::byte{0});
    const auto taken = pair.take(*pair.server, 2, pair.client_address);
    REQUIRE(taken.size() == 2);
    CHECK(std::equal(taken[0].begin() + 16, taken[0].end() - 8, before.begin() + 4096 - page));
    const bool lent = std::all_of(taken[1].begin() + 16, taken[1].end() - 8,
                                  [](std::byte each) { return each == std::byte{0}; });
    if (!lent) WARN("skipped: this kernel copies what it could refer to");
}

TEST_CASE("udp: the largest datagram passes, a larger one is told") {
    const bool ipv6 = GENERATE(false, true);
    Pair pair(ipv6);
    const std::size_t largest = pair.client->largest_datagram(pair.server_address);
    CHECK(largest == pair.server->largest_datagram(pair.client_address));
    CHECK(largest >= 1232);
    CHECK(largest <= 65507);
    const auto bytes = numbered(65507);
    REQUIRE(send(*pair.client, ByteView(bytes).first(largest), largest, pair.server_address) ==
            SendOutcome::sent);
    const auto taken = pair.take(*pair.server, 1, pair.client_address);
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].size() == largest);
    if (largest < bytes.size()) {
        CHECK(send(*pair.client, bytes, bytes.size(), pair.server_address) ==
              SendOutcome::too_large);
    }
}

TEST_CASE(
    "udp: a full receive buffer is counted, a dead port refuses, and neither ends the socket") {
    Pair pair(false, 16384);
    CHECK(pair.buffers.wanted == 16384);
    CHECK(pair.buffers.given == pair.server->receive_buffer_bytes());
    const auto burst = numbered(60000);
    for (int i = 0; i < 20; ++i) {
        REQUIRE(send(*pair.client, burst, 1200, pair.server_address) == SendOutcome::sent);
    }
    std::size_t total = 0;
    for (auto got = pair.server->receive({}); !got.empty(); got = pair.server->receive({}))
        total += got.size();
    CHECK(total > 0);
    CHECK(total < 20 * 50);
    REQUIRE(send(*pair.client, ByteView(burst).first(10), 10, pair.server_address) ==
            SendOutcome::sent);
    REQUIRE(pair.take(*pair.server, 1, pair.client_address).size() == 1);
    CHECK(pair.server->dropped() > 0);

    pair.server.reset();
    CHECK(send(*pair.client, ByteView(burst).first(10), 10, pair.server_address) ==
          SendOutcome::sent);
    CHECK(send(*pair.client, ByteView(burst).first(10), 10, pair.server_address) ==
          SendOutcome::refused);
    CHECK(pair.client->receive({}).empty());
    CHECK(send(*pair.client, ByteView(burst).first(10), 10, pair.server_address) ==
          SendOutcome::sent);
    CHECK(pair.client->receive({}).empty());
}

TEST_CASE("udp: a port in use is an error, one socket serves both families") {
    Pair pair(false);
    CHECK_FALSE(make_udp_socket({pair.server_address, {}}, *pair.reactor, nullptr).ok());
    auto dual = std::move(make_udp_socket({Address{}, {}}, *pair.reactor, nullptr).value());
    const Address to = loopback(false, local_port(*dual));
    auto sender = std::move(make_udp_socket({loopback(false), to}, *pair.reactor, nullptr).value());
    const Address from = loopback(false, local_port(*sender));
    const auto bytes = numbered(4000);
    REQUIRE(send(*sender, bytes, 1000, to) == SendOutcome::sent);
    CHECK(pair.take(*dual, 4, from).size() == 4);
    REQUIRE(send(*dual, bytes, 1000, from) == SendOutcome::sent);
    CHECK(pair.take(*sender, 4, to).size() == 4);
}
