// What stripes that share sockets of a receiver, or do not, may have under way.
#include "common/engine/receiver_sockets.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::engine;
using sabul::SocketRoom;

namespace {

constexpr std::size_t kBuffer = 208 * 1024;
constexpr SocketRoom kSmall(kBuffer, kBuffer / 6);
constexpr SocketRoom kLarge(4u << 20, 65507);

Address end(std::uint16_t port) {
    Address address;
    address.port = port;
    return address;
}

}  // namespace

TEST_CASE("receiver sockets: stripes are told apart by where they end") {
    ReceiverSockets sockets;
    sockets.set_ends(std::vector{end(1), end(2), end(1), end(3), end(1)});
    CHECK(sockets.sharing(0) == 3);
    CHECK(sockets.sharing(1) == 1);
    CHECK(sockets.sharing(4) == 3);
    // One of them moves.
    sockets.set_ends(std::vector{end(1), end(2), end(1), end(3), end(3)});
    CHECK(sockets.sharing(0) == 2);
    CHECK(sockets.sharing(4) == 2);
}

TEST_CASE("receiver sockets: stripes of one socket have no more than it holds together") {
    ReceiverSockets sockets;
    sockets.set_ends(std::vector{end(1), end(2), end(1), end(2)});
    const std::size_t third = kSmall.usable() / 3;
    sockets.add(0, third, kSmall);
    sockets.add(2, third, kSmall);
    CHECK(sockets.left(0, kSmall, 0, 0) == kSmall.usable() - 2 * third);
    CHECK(sockets.left(2, kSmall, 0, 0) == kSmall.usable() - 2 * third);
    CHECK(sockets.left(1, kSmall, 0, 0) == kSmall.usable());
    CHECK(sockets.left(0, kSmall, 1000, 0) == kSmall.usable() - 2 * third + 1000);
    sockets.add(0, kSmall.usable(), kSmall);
    CHECK(sockets.left(2, kSmall, 0, 0) == 0);
    CHECK(sockets.left(3, kSmall, 0, 0) == kSmall.usable());
    sockets.clear();
    CHECK(sockets.left(2, kSmall, 0, 0) == kSmall.usable());
}

TEST_CASE("receiver sockets: small ones add up, also while one stripe sends short datagrams") {
    ReceiverSockets sockets;
    sockets.set_ends(std::vector{end(1), end(2), end(1)});
    sockets.add(0, 1000, kSmall);
    sockets.add(1, 0, SocketRoom(kBuffer, 1440));
    CHECK(sockets.left_together(0, 0) == kSmall.together(2) - 1000);
    CHECK(sockets.left_together(500, 0) == kSmall.together(2) - 500);
}

TEST_CASE("receiver sockets: of large ones one is enough") {
    ReceiverSockets sockets;
    sockets.set_ends(std::vector{end(1), end(2), end(3), end(4)});
    for (std::uint16_t stripe = 0; stripe < 4; ++stripe)
        sockets.add(stripe, kLarge.usable() / 4, kLarge);
    CHECK(sockets.left_together(0, 0) == 0);
}

TEST_CASE("receiver sockets: of a socket of which nothing was told yet, a little may be used") {
    ReceiverSockets sockets;
    sockets.set_ends(std::vector{end(1)});
    const SocketRoom unknown(0, 0);
    sockets.add(0, 1000, unknown);
    CHECK(sockets.left(0, unknown, 0, 3000) == 2000);
    CHECK(sockets.left_together(0, 3000) == 2000);
    CHECK(sockets.left(0, unknown, 0, 800) == 0);
}
