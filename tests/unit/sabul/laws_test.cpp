#include <cmath>

#include "common/sabul/congestion/registry.h"
#include "common/sabul/congestion/sabul.h"
#include "common/sabul/congestion/sabul2003.h"
#include "common/sabul/pacer.h"
#include "common/sabul/path_probe.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(std::chrono::hours(1));

SynSample quiet(Time now, double packet_bytes = 1500) {
    SynSample sample;
    sample.now = now;
    sample.elapsed = 10ms;
    sample.sent_packets = 100;
    sample.rtt = sample.min_rtt = 100ms;
    sample.packet_bytes = packet_bytes;
    return sample;
}

LossSample loss(Time now, std::uint64_t packets, PacketNumber lowest, PacketNumber largest_sent,
                Duration rtt) {
    LossSample sample;
    sample.now = now;
    sample.packets = packets;
    sample.lowest = lowest;
    sample.largest_sent = largest_sent;
    sample.rtt = rtt;
    return sample;
}

}  // namespace

TEST_CASE("sabul2003: the increase is that of the source's table") {
    // Packets of 1,500 bytes a SYN of 10 ms, at a rate in Mbit/s.
    const auto at = [](double mbit) { return Sabul2003::increase(1500 * 8 / (mbit * 1e6), 0.01); };
    CHECK(at(11) == Approx(0.01));
    CHECK(at(119) == Approx(0.1));
    CHECK(at(121) == Approx(1));
    CHECK(at(1190) == Approx(1));
    CHECK(at(1300) == Approx(10));
    CHECK(at(0.01) == Approx(1.0 / 1500));
}

TEST_CASE("sabul2003: a loss-free start takes 9 s to 100 Mbit/s and 18 s to 1 Gbit/s") {
    Sabul2003 law({.initial = BitRate{10e6}});
    Time now = kStart;
    double reached_100 = 0, reached_1000 = 0;
    for (int tick = 1; tick < 3000 && reached_1000 == 0; ++tick) {
        law.on_syn(quiet(now += 10ms));
        const double mbit = law.rate().bits_per_second / 1e6;
        if (reached_100 == 0 && mbit >= 100) reached_100 = tick * 0.01;
        if (mbit >= 1000) reached_1000 = tick * 0.01;
    }
    CHECK(reached_100 == Approx(9.0).margin(1.2));
    CHECK(reached_1000 == Approx(18.0).margin(1.5));
}

TEST_CASE(
    "sabul2003: one decrease for each epoch, then at 16, 32 NAKs, and a freeze of a round trip") {
    Sabul2003 law({.initial = BitRate{100e6}});
    law.on_syn(quiet(kStart));
    const double before = law.rate().bits_per_second;
    law.on_loss(loss(kStart, 1, 50, 100, 100ms));
    CHECK(law.rate().bits_per_second == Approx(before / 1.125));
    CHECK(law.frozen_until() == kStart + 100ms);
    for (int i = 0; i < 14; ++i) law.on_loss(loss(kStart, 1, 60, 200, 100ms));
    CHECK(law.rate().bits_per_second == Approx(before / 1.125));
    law.on_loss(loss(kStart, 1, 60, 200, 100ms));
    CHECK(law.rate().bits_per_second == Approx(before / 1.125 / 1.125));
    // A number above all that was sent at the last decrease begins an epoch.
    law.on_loss(loss(kStart, 1, 101, 300, 100ms));
    CHECK(law.rate().bits_per_second == Approx(before / std::pow(1.125, 3)));
}

TEST_CASE("sabul2003: no increase while the smoothed loss is above 0.1 %") {
    Sabul2003 law({.initial = BitRate{100e6}});
    SynSample lossy = quiet(kStart);
    lossy.lost_packets = 1;
    law.on_syn(lossy);
    const double rate = law.rate().bits_per_second;
    law.on_syn(quiet(kStart + 10ms));  // history 0.9 % x 0.1: below the limit again
    CHECK(law.rate().bits_per_second > rate);
    law.on_syn(lossy);
    CHECK(law.rate().bits_per_second < rate * 1.02);
}

TEST_CASE("sabul: doubles each round until delivery stops growing, then keeps near it") {
    Sabul law({.initial = BitRate{10e6}});
    const double capacity = 1e9 / 8;
    Time now = kStart;
    // A path of 50 ms that delivers what was sent a round before, up to its capacity.
    std::vector<double> sent;
    int ticks_to_full = 0;
    for (int tick = 0; tick < 500; ++tick) {
        SynSample sample = quiet(now += 10ms, 1440);
        sample.rtt = sample.min_rtt = 50ms;
        sent.push_back(law.rate().bytes_per_second());
        sample.delivered =
            tick < 5 ? 0 : std::min(capacity, sent[static_cast<std::size_t>(tick) - 5]);
        law.on_syn(sample);
        if (ticks_to_full == 0 && law.rate().bytes_per_second() >= capacity) ticks_to_full = tick;
    }
    CHECK(ticks_to_full < 80);
    CHECK_FALSE(law.starting());
    CHECK(law.rate().bytes_per_second() > 0.85 * capacity);
    CHECK(law.rate().bytes_per_second() < 1.3 * capacity);
}

TEST_CASE("sabul: a rate that is not used does not grow") {
    Sabul law({.initial = BitRate{10e6}});
    Time now = kStart;
    for (int tick = 0; tick < 1000; ++tick) {
        SynSample sample = quiet(now += 10ms, 1440);
        sample.delivered = 1e6;
        sample.limited = true;
        law.on_syn(sample);
    }
    CHECK(law.rate().bytes_per_second() <= 2.1e6);
}

TEST_CASE("every law obeys the highest rate and has a name") {
    for (const std::string& name : law_names()) {
        INFO(name);
        const auto law = make_law(name, {.initial = BitRate{1e6}, .highest = BitRate{50e6}});
        REQUIRE(law != nullptr);
        Time now = kStart;
        for (int tick = 0; tick < 5000; ++tick) {
            SynSample sample = quiet(now += 10ms);
            sample.delivered = law->rate().bytes_per_second();
            law->on_syn(sample);
        }
        CHECK(law->rate().bits_per_second == Approx(50e6).epsilon(0.01));
        CHECK(law->window() > 1000);
    }
    CHECK(make_law("nonesuch", {}) == nullptr);
}

TEST_CASE("the pacer spends its rate, in bursts, and never catches up more than a millisecond") {
    Pacer pacer;
    pacer.set_rate(kStart, BitRate{80e6});  // 10,000 bytes a millisecond
    Time now = kStart;
    double sent = 0;
    std::size_t largest = 0;
    while (now < kStart + 1s) {
        const std::size_t budget = pacer.budget(now, 1440);
        if (budget == 0) {
            now = std::max(pacer.ready_at(now), now + 1us);
            continue;
        }
        largest = std::max(largest, budget);
        pacer.spend(budget);
        sent += static_cast<double>(budget);
    }
    CHECK(sent == Approx(10e6).epsilon(0.01));
    CHECK(largest <= 2500);
    // After a second of sleep there is one millisecond's worth, not a second's.
    now += 1s;
    std::size_t at_once = 0;
    for (std::size_t budget = pacer.budget(now, 1440); budget > 0;
         budget = pacer.budget(now, 1440)) {
        pacer.spend(budget);
        at_once += budget;
    }
    CHECK(at_once <= 12000);
    CHECK(pacer.take_unused() > 9e6);
}

TEST_CASE("a path's size is probed upwards, and falls back when it shrinks") {
    PathProbe probe(65507, 28);
    CHECK(probe.size() == 1200);
    CHECK_FALSE(probe.next_probe(kStart, 10ms));  // nothing is known of the receiver yet
    probe.allow(65507);
    CHECK(probe.next_probe(kStart, 10ms) == std::size_t{65507});
    CHECK_FALSE(probe.next_probe(kStart + 1ms, 10ms));
    Time now = kStart;
    for (int i = 0; i < 2; ++i) CHECK(probe.next_probe(now += 1s, 10ms) == std::size_t{65507});
    CHECK(probe.next_probe(now += 1s, 10ms) == std::size_t{8972});
    probe.received(8972, now += 10ms);
    CHECK(probe.size() == 8972);
    CHECK_FALSE(probe.next_probe(now += 1s, 10ms));
    // Full ones vanish while small ones arrive.
    CHECK_FALSE(probe.lost(8972, now + 100ms, 10ms));
    CHECK_FALSE(probe.lost(8972, now + 200ms, 10ms));
    probe.received(48, now + 1500ms);
    CHECK(probe.lost(8972, now + 1600ms, 10ms));
    CHECK(probe.size() == 1200);
}
