#include <sys/socket.h>

#include <array>
#include <thread>

#include "common/io/clock.h"
#include "common/io/reactor.h"
#include "tests/support/catch.h"
#include "tests/unit/io/net/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace std::chrono_literals;

TEST_CASE("reactor: waits until the time, and no longer than a wake from another thread") {
    Clock clock;
    auto reactor = std::move(Reactor::make().value());
    const Time start = clock.now();
    reactor->wait(start + 3ms);
    CHECK(clock.now() >= start + 3ms);
    reactor->wait(start);  // in the past
    std::thread other([&] { reactor->wake(); });
    reactor->wait(kNever);
    other.join();
    reactor->wake();
    reactor->wake();
    reactor->wait(kNever);
}

TEST_CASE("reactor: who stays awake does not wait, once") {
    auto reactor = Reactor::make();
    REQUIRE(reactor);
    Clock clock;
    (*reactor)->stay_awake();
    const Time begun = clock.now();
    (*reactor)->wait(kNever);
    (*reactor)->wait(begun + 20ms);
    CHECK(clock.now() >= begun + 20ms);
}

TEST_CASE("reactor: readiness is said once, at the edge") {
    auto reactor = std::move(Reactor::make().value());
    const auto [first_fd, second_fd] = lambda::io::testing::tcp_pair();
    const Descriptor first(first_fd);
    const Descriptor second(second_fd);
    Reactor::Readiness readiness;
    CHECK((readiness.readable && readiness.writable));
    reactor->add(first.get(), &readiness);
    reactor->wait(kNever);  // writable from the start
    readiness = {false, false};
    REQUIRE(::write(second.get(), "x", 1) == 1);
    reactor->wait(kNever);
    CHECK(readiness.readable);
    readiness = {false, false};
    reactor->wait(Clock().now() + 1ms);
    CHECK_FALSE(readiness.readable);
    REQUIRE(::shutdown(second.get(), SHUT_WR) == 0);
    reactor->wait(kNever);
    CHECK(readiness.readable);
    reactor->remove(first.get());
}

TEST_CASE(
    "reactor: of what is busy news is looked for where there was none, and no longer than it is "
    "registered") {
    auto reactor = std::move(Reactor::make().value());
    std::array<int, 2> pair{}, other{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair.data()) == 0);
    REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, other.data()) == 0);
    const Descriptor first(pair[0]), second(pair[1]), third(other[0]), fourth(other[1]);
    Reactor::Readiness of_first, of_third;
    reactor->add_busy(first.get(), &of_first);
    reactor->add_busy(third.get(), &of_third);
    Clock clock;
    const auto waits = [&](Duration longest) {
        const Time begun = clock.now();
        reactor->wait(begun + longest);
        return clock.now() - begun >= longest;
    };
    CHECK(waits(2ms));  // nobody said yet that there is nothing
    of_first = {true, false};
    reactor->wait(kNever);
    CHECK(of_first.writable);
    of_first.readable = of_third.readable = false;
    CHECK(waits(2ms));
    CHECK_FALSE(of_first.readable);
    REQUIRE(::send(second.get(), "x", 1, 0) == 1);
    reactor->wait(kNever);
    CHECK((of_first.readable && !of_third.readable));
    CHECK(waits(2ms));  // that it has not been taken is no news
    of_first.readable = false;
    reactor->wait(kNever);  // it has not been taken
    CHECK(of_first.readable);
    reactor->remove_busy(first.get());
    of_first.readable = false;
    CHECK(waits(2ms));
    std::thread sender([&] {
        static_cast<void>(::send(fourth.get(), "y", 1, 0));
        reactor->wake();
    });
    while (!of_third.readable) reactor->wait(kNever);
    sender.join();
    CHECK_FALSE(of_first.readable);
    reactor->remove_busy(third.get());
}

TEST_CASE("reactor: who is eager waits no less and no longer, after short waits and long ones") {
    Clock clock;
    auto reactor = std::move(Reactor::make().value());
    reactor->set_eager(true);
    for (const Duration each : std::initializer_list<Duration>{0us, 10us, 30us, 3ms, 20us, 1ms}) {
        const Time until = clock.now() + each;
        reactor->wait(until);
        CHECK(clock.now() >= until);
    }
    for (int i = 0; i < 3; ++i) {
        reactor->wake();
        reactor->wait(kNever);
    }
    std::thread other([&] { reactor->wake(); });
    reactor->wait(kNever);
    other.join();
    reactor->stay_awake();
    reactor->wait(kNever);
}
