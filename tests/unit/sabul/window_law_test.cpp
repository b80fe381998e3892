// The frame around the window rules: slow start, loss events, timeout, use, pacing.
#include "common/sabul/congestion/window_law.h"

#include <array>

#include "common/sabul/congestion/reno.h"
#include "common/sabul/congestion/westwood.h"
#include "tests/support/catch.h"
#include "tests/unit/sabul/deterministic_loss.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(std::chrono::hours(1));
constexpr Duration kRtt = 100ms;

// A path of 100 ms with 10 ms SYN that acknowledges a whole window once a round.
struct Rounds {
    explicit Rounds(std::unique_ptr<WindowRule> rule = std::make_unique<Reno>())
        : law({.initial = BitRate{50e6}}, std::move(rule)) {}

    WindowLaw law;
    Time now = kStart;
    PacketNumber number = 0;

    void ack(double packets, Time sent) {
        const std::array passages{Passage{.sent = sent, .arrived = 0ms}};
        law.on_ack({.now = now,
                    .packets = static_cast<std::uint64_t>(packets),
                    .passages = passages,
                    .rtt = kRtt,
                    .latest_rtt = kRtt,
                    .min_rtt = kRtt});
    }
    void round(double packets) {
        now += kRtt + 10ms;
        number += static_cast<PacketNumber>(packets);
        ack(packets, now - kRtt);
    }
    void lose(PacketNumber lowest) {
        law.on_loss({.now = now,
                     .packets = 1,
                     .lowest = lowest,
                     .largest_sent = number,
                     .first_sent = now - kRtt,
                     .last_sent = now - kRtt,
                     .rtt = kRtt});
    }
    void silence(Duration span) {
        for (const Time end = now + span; now < end;) {
            SynSample sample;
            sample.now = now += 10ms;
            sample.elapsed = 10ms;
            law.on_syn(sample);
        }
    }
    void send(std::uint64_t packets) {
        SynSample sample;
        sample.now = now += 10ms;
        sample.elapsed = 10ms;
        sample.sent_packets = packets;
        law.on_syn(sample);
    }
};

}  // namespace

TEST_CASE("window: slow start from 10 doubles each round, at twice the window a round") {
    Rounds path;
    CHECK(path.law.packets() == 10);
    CHECK(path.law.rate().bits_per_second == Approx(50e6));  // no round trip is known yet
    for (int i = 0; i < 5; ++i) path.round(path.law.packets());
    CHECK(path.law.packets() == 320);
    CHECK(path.law.slow_start());
    CHECK(path.law.window() == Approx(320 * 1440));
    CHECK(path.law.rate().bytes_per_second() == Approx(2 * 320 * 1440 / 0.110));
}

TEST_CASE("window: all losses of a round trip are one event") {
    Rounds path;
    for (int i = 0; i < 4; ++i) path.round(path.law.packets());
    REQUIRE(path.law.packets() == 160);
    path.lose(120);
    CHECK(path.law.packets() == 80);
    CHECK_FALSE(path.law.slow_start());
    CHECK(path.law.rate().bytes_per_second() == Approx(1.2 * 80 * 1440 / 0.110));
    path.lose(121);
    path.lose(path.number);  // the largest that was sent at the event
    CHECK(path.law.packets() == 80);
    // What was acknowledged had left before the event: no growth yet.
    path.now += 50ms;
    path.ack(80, path.now - kRtt);
    CHECK(path.law.packets() == 80);
    path.round(80);
    CHECK(path.law.packets() == 81);
    path.lose(path.number);
    CHECK(path.law.packets() == 40.5);
}

TEST_CASE("window: a timeout leaves one packet, and what was lost before it is no new event") {
    Rounds path;
    for (int i = 0; i < 4; ++i) path.round(path.law.packets());
    path.silence(5s);
    CHECK(path.law.packets() == 160);  // nothing is in flight
    path.send(160);
    path.silence(900ms);
    CHECK(path.law.packets() == 160);
    path.silence(200ms);
    CHECK(path.law.packets() == 1);
    path.number += 160;
    path.law.on_loss({.now = path.now,
                      .packets = 160,
                      .lowest = path.number - 159,
                      .largest_sent = path.number,
                      .first_sent = path.now - 1s,
                      .last_sent = path.now - 1s,
                      .rtt = kRtt});
    // Slow start up to half of what was: 1, 2, 4 ... 64, 80.
    for (int i = 0; i < 7; ++i) path.round(path.law.packets());
    CHECK(path.law.packets() == 80);
    CHECK_FALSE(path.law.slow_start());
}

TEST_CASE("window: the second timeout in a row takes twice as long") {
    Rounds path;
    path.round(10);
    path.send(20);
    path.silence(1100ms);
    REQUIRE(path.law.packets() == 1);
    path.round(1);
    path.round(2);
    REQUIRE(path.law.packets() > 3);
    path.send(4);
    path.silence(1100ms);
    REQUIRE(path.law.packets() == 1);
    path.send(1);
    const double threshold_probe = path.law.packets();
    path.silence(1500ms);
    path.send(1);  // still waiting for the second: nothing changed
    CHECK(path.law.packets() == threshold_probe);
    path.silence(700ms);
    path.round(1);
    CHECK(path.law.packets() == 2);
    CHECK_FALSE(path.law.slow_start());  // the threshold fell to 2 at the second
}

TEST_CASE("window: who pauses after all was acknowledged within one SYN has no timeout") {
    Rounds path;
    for (int i = 0; i < 20; ++i) {
        path.ack(10, path.now - 1ms);  // sent and acknowledged before the SYN tells of either
        path.send(10);
    }
    const double window = path.law.packets();
    path.silence(5s);
    CHECK(path.law.packets() == window);
}

TEST_CASE("window: what is not used does not grow") {
    Rounds path;
    for (int i = 0; i < 50; ++i) path.round(10);
    CHECK(path.law.packets() <= 40 + 10);
    const double window = path.law.packets();
    for (int i = 0; i < 50; ++i) path.round(5);
    CHECK(path.law.packets() == window);
}

TEST_CASE("window: what came while it was not used is no bandwidth of the time in which it was") {
    Parameters none("westwood");
    Rounds path(std::make_unique<Westwood>(none));
    for (int i = 0; i < 200; ++i) path.round(100);
    path.lose(path.number);
    REQUIRE(path.law.packets() == Approx(100).epsilon(0.05));
    for (int i = 0; i < 200; ++i) path.round(20);
    for (int i = 0; i < 30; ++i) path.round(100);
    path.lose(path.number);
    CHECK(path.law.packets() < 105);
}

TEST_CASE("window: no event, however many losses, leaves less than 2 packets") {
    Rounds path;
    path.round(10);
    for (int i = 0; i < 20; ++i) {
        path.round(2);
        path.lose(path.number);
    }
    CHECK(path.law.packets() >= 2);
    CHECK(path.law.packets() < 3.1);
}
