#include <sys/socket.h>

#include <thread>

#include "common/io/machine.h"
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
