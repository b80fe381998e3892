// A path that holds less than the receiver's socket: what is under way is one socket's worth, or
// that of a few small ones, whatever the stripes.
#include "tests/simulation/one.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

namespace {

struct Moved {
    double seconds = 0;
    std::uint64_t dropped = 0;
};

Moved move(std::uint16_t stripes, double busy, std::size_t buffer = 1u << 20) {
    Options given = options();
    given.terms.stripes = stripes;
    given.terms.initial_rate = BitRate{4e9};
    given.terms.highest_rate = BitRate{4e9};
    given.forward.delay = given.backward.delay = 50us;
    given.feedback_delay = 50us;
    given.buffer_bytes = buffer;
    One one(given, 64 * kMiB);
    for (auto& socket : one.run.client_sockets) socket->busy = busy;
    for (auto& socket : one.run.server_sockets) socket->overflows = true;
    one.expect_identical();
    Moved moved{one.run.receiver->outcome().transfer_seconds, 0};
    for (const auto& socket : one.run.server_sockets) moved.dropped += socket->dropped();
    return moved;
}

}  // namespace

TEST_CASE("a short path: no stripe of many waits for its SYN") {
    const Moved one = move(1, 0), many = move(32, 0);
    CHECK(many.seconds < 1.2 * one.seconds);
    CHECK(one.dropped == 0);
    CHECK(many.dropped == 0);
}

TEST_CASE("a short path: what fills a small window is told before the SYN") {
    Options given = options();
    given.terms.stripes = 4;
    given.terms.initial_rate = BitRate{4e9};
    given.terms.highest_rate = BitRate{4e9};
    given.terms.window = 256 * 1024;
    given.forward.delay = given.backward.delay = given.feedback_delay = 100us;
    One one(given, 64 * kMiB);
    one.expect_identical();
    // 0.3 s where it is told only each SYN.
    CHECK(one.run.receiver->outcome().transfer_seconds < 0.2);
}

TEST_CASE("a path of less than a SYN carries what it holds beside one socket's worth") {
    Options given = options();
    given.terms.initial_rate = BitRate{4e9};
    given.terms.highest_rate = BitRate{4e9};
    given.forward.delay = given.backward.delay = given.feedback_delay = 4ms;
    given.buffer_bytes = kMiB / 2;
    given.forward.first_hop = given.forward.largest = 8972;
    One one(given, 256 * kMiB);
    one.expect_identical();
    // At 4 Gbit/s 0.54 s; 1.29 s where what travels counts as in the socket.
    CHECK(one.run.receiver->outcome().transfer_seconds < 0.7);
}

TEST_CASE("a short path: a burst that a full socket left behind holds up no other") {
    CHECK(move(8, 0.3).seconds < 2 * move(1, 0.3).seconds);
}

TEST_CASE(
    "a short path that stands still has one socket's worth under way, also where it is slow") {
    Options given = options();
    given.terms.stripes = 16;
    given.terms.initial_rate = BitRate{4e9};
    given.terms.highest_rate = BitRate{4e9};
    given.forward.delay = given.backward.delay = 50us;
    given.feedback_delay = 50us;
    given.buffer_bytes = kMiB;
    given.slots = 64;
    const Pauses pauses(Time(3600s), 10s, 50ms, 35ms, seed());
    given.forward.pauses = &pauses;
    One one(given, 256 * kMiB);
    one.expect_identical();
    unsigned touched = 0;
    for (std::uint32_t slot = 0; slot < one.run.source.slot_count(); ++slot) {
        const ByteSpan bytes = one.run.source.slot(slot);
        touched +=
            std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
    }
    // A block for each stripe, and some that are read ahead.
    CHECK(touched <= 40);
}

TEST_CASE("what travels within a machine may all be in the socket, which does not overflow") {
    Options given = options();
    given.terms.initial_rate = BitRate{40e9};
    given.terms.highest_rate = BitRate{40e9};
    given.forward.delay = given.backward.delay = given.feedback_delay = 100us;
    given.buffer_bytes = 208 * 1024;
    for (std::uint64_t i = 0; i < 5; ++i) {  // it takes a pause at the wrong time
        const Pauses pauses(Time(3600s), 200ms, 300us, 1ms, seed() + i);
        given.forward.pauses = &pauses;
        One one(given, 64 * kMiB);
        for (auto& socket : one.run.server_sockets) socket->overflows = true;
        one.expect_identical();
        for (const auto& socket : one.run.server_sockets) CHECK(socket->dropped() == 0);
    }
}

TEST_CASE("a machine whose first round trip is slow is not taken for a path: no socket overflows") {
    Options given = options();
    given.terms.initial_rate = BitRate{12e9};
    given.terms.highest_rate = BitRate{12e9};
    given.forward.delay = given.backward.delay = 20us;
    given.feedback_delay = 2ms;
    given.buffer_bytes = 208 * 1024;
    const Pauses pauses(Time(3600s), 20ms, 300us, 1ms, seed());
    given.forward.pauses = &pauses;
    One one(given, 64 * kMiB);
    for (auto& socket : one.run.server_sockets) socket->overflows = true;
    // The first data leave after 8 ms.
    one.run.world.after(10ms, [&] { one.run.feedback.set_delay(20us); });
    one.expect_identical();
    for (const auto& socket : one.run.server_sockets) CHECK(socket->dropped() == 0);
}

TEST_CASE(
    "a small socket takes less of short datagrams, each of which counts twice, than of long") {
    Options given = options();
    given.terms.initial_rate = BitRate{40e9};
    given.terms.highest_rate = BitRate{40e9};
    given.forward.delay = given.backward.delay = given.feedback_delay = 100us;
    given.buffer_bytes = 208 * 1024;
    const Pauses pauses(Time(3600s), 20ms, 300us, 1ms, seed());
    given.forward.pauses = &pauses;
    std::vector<transfer::SourceName> names;
    for (int i = 0; i < 4000; ++i) names.push_back({std::to_string(i), std::to_string(i)});
    Run run(seed(), given, names, {"dir", true});
    for (const auto& name : names) run.source.files[name.path] = {random_bytes(9000, 1), 1, 0644};
    for (auto& socket : run.server_sockets) socket->overflows = true;
    REQUIRE(run.run());
    CHECK(run.receiver->outcome().verified == names.size());
    for (const auto& socket : run.server_sockets) CHECK(socket->dropped() == 0);
}

TEST_CASE("small sockets hold together what one alone cannot, and none overflows") {
    const auto seconds = [](session::Direction direction, std::uint16_t stripes, unsigned ports,
                            const Pauses* pauses) {
        Options given = options(direction);
        given.terms.stripes = stripes;
        given.terms.initial_rate = BitRate{40e9};
        given.terms.highest_rate = BitRate{40e9};
        given.forward.delay = given.backward.delay = given.feedback_delay = 100us;
        given.forward.pauses = pauses;
        given.buffer_bytes = 208 * 1024;
        given.server_ports = ports;
        One one(given, 64 * kMiB);
        const bool put = direction == session::Direction::put;
        auto& sockets = put ? one.run.server_sockets : one.run.client_sockets;
        for (auto& socket : sockets) socket->overflows = true;
        one.expect_identical();
        for (const auto& socket : sockets) CHECK(socket->dropped() == 0);
        return one.run.receiver->outcome().transfer_seconds;
    };
    const Pauses pauses(Time(3600s), 20ms, 300us, 1ms, seed());
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        const double alone = seconds(direction, 1, 1, nullptr);
        CHECK(seconds(direction, 4, 4, nullptr) < 0.5 * alone);
        // Two stripes end at one of three sockets, or all at one.
        CHECK(seconds(direction, 4, 3, nullptr) < 0.5 * alone);
        const double shared = seconds(direction, 4, 1, nullptr);
        if (direction == session::Direction::put) CHECK(shared > 0.9 * alone);
        for (const unsigned ports : {1u, 3u, 4u}) seconds(direction, 4, ports, &pauses);
        for (const unsigned ports : {2u, 3u}) seconds(direction, 16, ports, &pauses);
    }
}
