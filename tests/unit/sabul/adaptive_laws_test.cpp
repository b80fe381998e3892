// Window laws that look at time, throughput or bandwidth: cubic, htcp, westwood, htcp-be.
#include "common/sabul/congestion/bandwidth_filter.h"
#include "common/sabul/congestion/cubic.h"
#include "common/sabul/congestion/htcp.h"
#include "common/sabul/congestion/htcp_be.h"
#include "common/sabul/congestion/westwood.h"
#include "tests/support/catch.h"
#include "tests/unit/sabul/deterministic_loss.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(std::chrono::hours(1));

WindowPath path_at(Duration since_start, Duration rtt = 100ms, Duration min_rtt = 100ms) {
    return {
        .now = kStart + since_start, .used = kStart + since_start, .rtt = rtt, .min_rtt = min_rtt};
}

// A round trip of `packets`, acknowledged in ten parts.
void round(WindowRule& rule, Duration& at, Duration rtt, Duration min_rtt, double packets) {
    for (int i = 0; i < 10; ++i) {
        at += rtt / 10;
        rule.acknowledged(path_at(at, rtt, min_rtt), packets / 10);
    }
}

}  // namespace

TEST_CASE("cubic: the curve back to 100 packets from 70") {
    const double rise = Cubic::rise_time(70, 100);
    CHECK(rise == Approx(4.2172).margin(0.00005));
    const double expected[] = {70, 86.681, 95.640, 99.279, 99.996, 100.192, 102.267};
    for (int t = 0; t <= 6; ++t) {
        CAPTURE(t);
        CHECK(Cubic::curve(t, rise, 100) == Approx(expected[t]).margin(0.0006));
    }
}

TEST_CASE("cubic: the window keeps to the curve") {
    Cubic cubic;
    double window = cubic.reduced(path_at(0s), 100);
    CHECK(window == Approx(70));
    const double expected[] = {70, 86.681, 95.640, 99.279, 99.996, 100.192, 102.267};
    for (int tick = 0; tick <= 600; ++tick) {
        window = cubic.grown(path_at(tick * 10ms), window, window / 10);
        if (tick % 100 == 0 && tick > 0) {
            CAPTURE(tick);
            CHECK(window == Approx(expected[tick / 100]).epsilon(0.02));
        }
    }
}

TEST_CASE("cubic: fast convergence, and at most half more in a round trip") {
    Cubic cubic;
    cubic.reduced(path_at(0s), 1000);
    CHECK(cubic.reduced(path_at(1s), 900) == Approx(630));
    // The top is now 900 (1 + 0.7) / 2 = 765.
    double window = 630;
    for (int tick = 0; tick < 800; ++tick) {
        window = std::max(window, cubic.grown(path_at(1s + tick * 10ms), window, window / 10));
    }
    CHECK(window == Approx(Cubic::curve(7.99, Cubic::rise_time(630, 765), 765)).epsilon(0.02));
    CHECK(cubic.grown(path_at(1000s), window, window) == Approx(1.5 * window));
}

TEST_CASE("cubic: the response function, Reno's where that is more") {
    const std::tuple<double, double, double> cells[] = {{1e-3, 39, 39},
                                                        {1e-4, 122, 187},
                                                        {1e-5, 387, 1054},
                                                        {1e-6, 1225, 5926},
                                                        {1e-7, 5926, 33325}};
    // At the balance the curve is flat, so that CUBIC comes to it slowly: the way that is left
    // falls with the square root of the number of losses.
    const int forgotten = 500;
    for (const auto& [p, short_rtt, long_rtt] : cells) {
        CAPTURE(p);
        CHECK(mean_window(std::make_unique<Cubic>(), 10ms, p, forgotten) ==
              Approx(short_rtt).epsilon(0.05));
        CHECK(mean_window(std::make_unique<Cubic>(), 100ms, p, forgotten) ==
              Approx(long_rtt).epsilon(0.05));
    }
}

TEST_CASE("htcp: the increase over the time since the last loss") {
    const std::pair<double, double> vector[] = {{0.5, 1}, {1, 1},  {1.5, 6.0625}, {2, 11.25},
                                                {3, 22},  {5, 45}, {10, 111.25},  {20, 281.25}};
    for (const auto& [since, alpha] : vector) CHECK(htcp_increase(since) == Approx(alpha));
}

TEST_CASE("htcp: from 500 packets at 100 ms, with half left") {
    Parameters none("htcp");
    Htcp htcp(none);
    htcp.acknowledged(path_at(0s), 1);
    double window = htcp.reduced(path_at(0s), 1000);
    CHECK(window == 500);
    CHECK(htcp.left() == 0.5);
    const std::pair<int, double> vector[] = {
        {10, 510}, {20, 565.71}, {30, 726.18}, {50, 1381.35}, {100, 5202.41}};
    int rounds = 0;
    for (const auto& [after, expected] : vector) {
        for (; rounds < after; ++rounds) {
            window = htcp.grown(path_at(rounds * 100ms), window, window);
        }
        CHECK(window == Approx(expected).margin(0.01));
    }
}

TEST_CASE("htcp: what a loss leaves follows the round trips, unless the throughput moved") {
    Parameters none("htcp");
    Htcp htcp(none);
    Duration at{0};
    const auto lose_after = [&](Duration rtt, double packets) {
        for (int i = 0; i < 60; ++i) round(htcp, at, rtt, 100ms, packets);
        htcp.reduced(path_at(at, rtt, 100ms), 1000);
        return htcp.left();
    };
    CHECK(lose_after(150ms, 1500) == 0.5);                           // the first
    CHECK(lose_after(150ms, 1500) == Approx(0.6667).margin(0.001));  // 10,000 packets/s as before
    CHECK(lose_after(250ms, 2500) == 0.5);                           // clamped
    CHECK(lose_after(110ms, 2200) == 0.5);                           // 20,000 packets/s: off
    CHECK(lose_after(110ms, 2200) <= 0.8);
    // 2 (1 - β) a round trip in place of 1: never less than 1.
    CHECK(htcp.grown(path_at(at), 1000, 1000) == Approx(1001));
}

TEST_CASE("htcp: half is left where a round trip takes less than 10 ms, whatever the SYN") {
    Parameters none("htcp");
    Htcp htcp(none);
    Duration at{0};
    const auto lose = [&](Duration least) {
        const auto path = [&](Duration rtt) {
            WindowPath made = path_at(at, rtt + 10ms, least + 10ms);
            made.syn = 10ms;
            return made;
        };
        for (int i = 0; i < 60; ++i) {
            at += least + 15ms;
            htcp.acknowledged(path(least + 5ms), 1e4 * seconds(least + 15ms));
        }
        htcp.reduced(path(least), 1000);
        return htcp.left();
    };
    for (int i = 0; i < 3; ++i) CHECK(lose(9ms) == 0.5);
    CHECK(lose(10ms) > 0.7);
}

TEST_CASE("htcp: the longest round trip fades") {
    Parameters none("htcp");
    Htcp htcp(none);
    Duration at{0};
    const auto lose = [&](Duration rtt) {
        for (int i = 0; i < 60; ++i) round(htcp, at, rtt, 100ms, 1e4 * seconds(rtt));
        htcp.reduced(path_at(at, rtt, 100ms), 1000);
        return htcp.left();
    };
    lose(200ms);
    CHECK(lose(130ms) == Approx(1 / 1.95));
    CHECK(lose(130ms) == Approx(1 / 1.9025));
}

TEST_CASE("htcp: scaling with the round trip is an option") {
    Parameters on("htcp:rttscaling=on");
    Htcp htcp(on);
    htcp.acknowledged(path_at(0s), 1);
    htcp.reduced(path_at(0s), 1000);
    CHECK(htcp.grown(path_at(2s, 50ms, 50ms), 100, 100) == Approx(100 + 11.25 / 2));
    CHECK(htcp.grown(path_at(2s, 500ms, 500ms), 100, 100) == Approx(100 + 11.25 * 2));
    CHECK(htcp.grown(path_at(2s, 1ms, 1ms), 100, 100) == Approx(100 + 1.125));
}

TEST_CASE("westwood: the published filters") {
    BandwidthFilter tustin(BandwidthFilter::Kind::tustin);
    tustin.add(0);  // they begin there
    const double first[] = {5, 14.5, 23.05, 30.745, 37.6705};
    for (int i = 1; i <= 44; ++i) {
        tustin.add(100);
        if (i <= 5) CHECK(tustin.bandwidth() == Approx(first[i - 1]));
        if (i == 20) CHECK(tustin.bandwidth() == Approx(87.17).margin(0.005));
    }
    CHECK(tustin.bandwidth() == Approx(98.98).margin(0.005));

    BandwidthFilter ours(BandwidthFilter::Kind::tustin);
    ours.add(100);
    CHECK(ours.bandwidth() == 100);

    BandwidthFilter cascade(BandwidthFilter::Kind::cascade);
    const double then[] = {100, 101.5625, 104.2969, 107.8857};
    cascade.add(100);
    for (int i = 0; i < 4; ++i) {
        CHECK(cascade.bandwidth() == Approx(then[i]).margin(0.00005));
        cascade.add(200);
    }
}

TEST_CASE("westwood: a sample takes a round trip and 50 ms at least") {
    BandwidthFilter filter(BandwidthFilter::Kind::cascade);
    filter.acknowledged(path_at(0ms, 10ms, 10ms), 500);  // what came before has no beginning
    filter.acknowledged(path_at(20ms, 10ms, 10ms), 20);
    CHECK(filter.bandwidth() == 0);
    filter.acknowledged(path_at(50ms, 10ms, 10ms), 30);
    CHECK(filter.bandwidth() == Approx(1000));
    CHECK(filter.window(path_at(50ms, 30ms, 10ms)) == Approx(10));
}

TEST_CASE("westwood: a loss leaves what the bandwidth has under way, and never raises the window") {
    Parameters none("westwood");
    WindowLaw law = without_syn(std::make_unique<Westwood>(none));
    // 1,000 packets/s over 100 ms with a queue of as much again: a window of 200.
    Time now = kStart;
    PacketNumber number = 0;
    const auto ack = [&](std::uint64_t packets, Duration took) {
        law.on_ack({.now = now += took,
                    .packets = packets,
                    .passages = {},
                    .rtt = 200ms,
                    .latest_rtt = 200ms,
                    .min_rtt = 100ms});
        number += packets;
    };
    const auto lose = [&] {
        law.on_loss({.now = now,
                     .packets = 1,
                     .lowest = number,
                     .largest_sent = number,
                     .first_sent = now,
                     .last_sent = now,
                     .rtt = 200ms});
    };
    for (int i = 0; i < 40; ++i) ack(100, 100ms);
    REQUIRE(law.packets() > 200);
    lose();
    CHECK(law.packets() == Approx(100).epsilon(0.02));
    const double window = law.packets();
    for (int i = 0; i < 30; ++i) ack(400, 100ms);  // more bandwidth than window
    lose();
    CHECK(law.packets() >= window);
    CHECK(law.packets() <= window + 30 * 400 / window + 1);
}

TEST_CASE("htcp-be: H-TCP's increase, Westwood+'s decrease") {
    Parameters none("htcp-be");
    HtcpBe law(none);
    Duration at{0};
    for (int i = 0; i < 50; ++i) round(law, at, 150ms, 100ms, 1500);  // 10,000 packets/s
    CHECK(law.reduced(path_at(at, 150ms, 100ms), 1500) == Approx(1000));
    CHECK(law.grown(path_at(at + 500ms), 1000, 1000) == Approx(1001));
    CHECK(law.grown(path_at(at + 5s), 1000, 1000) == Approx(1045));
    CHECK(law.reduced(path_at(at + 5s, 150ms, 100ms), 800) == 800);  // never more than there was
}

TEST_CASE("htcp-be: 2 (1 - β) with what the last loss left is an option") {
    Parameters on("htcp-be:scaling=on");
    HtcpBe law(on);
    Duration at{0};
    for (int i = 0; i < 50; ++i) round(law, at, 150ms, 100ms, 1500);
    law.reduced(path_at(at, 150ms, 100ms), 1250);  // leaves 0.8
    CHECK(law.grown(path_at(at + 5s), 1000, 1000) == Approx(1000 + 45 * 0.4));
    CHECK(law.grown(path_at(at + 500ms), 1000, 1000) == Approx(1001));
}
