#include "common/dialling/joins.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/dialling/dial.h"
#include "tests/support/catch.h"

namespace lambda::dialling {
namespace {

// Takes connections into its backlog and says nothing.
struct Silent {
    Silent() {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof any;
        auto* const name = reinterpret_cast<sockaddr*>(&any);
        REQUIRE(::bind(socket.get(), name, size) == 0);
        REQUIRE(::listen(socket.get(), 8) == 0);
        REQUIRE(::getsockname(socket.get(), name, &size) == 0);
        address.ip[10] = address.ip[11] = std::byte{0xff};
        address.ip[12] = std::byte{127};
        address.ip[15] = std::byte{1};
        address.port = ntohs(any.sin_port);
    }
    io::Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    Address address;
};

}  // namespace

TEST_CASE("joins: what was dialled for a transfer ends with it") {
    const Silent silent;
    Joins joins({.peer = silent.address, .host = "localhost"}, 1);
    unsigned failures = 0;
    joins.open(
        std::string(32, 'a'), 2,
        {.joined = {}, .failed = [&](std::uint16_t, std::uint32_t, const Error&) { ++failures; }});
    joins.begin(0, 1);  // takes the one made ahead
    joins.begin(1, 1);
    std::vector<pollfd> sockets;
    joins.add_to(sockets);
    CHECK(sockets.size() == 2);
    joins.close();
    sockets.clear();
    joins.add_to(sockets);
    CHECK(sockets.empty());
    CHECK(joins.deadline() == kNever);
    joins.advance();
    CHECK(failures == 0);
}

}  // namespace lambda::dialling
