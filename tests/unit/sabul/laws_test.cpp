#include "common/sabul/congestion/registry.h"
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

}  // namespace

TEST_CASE("every law obeys the highest rate and has a name") {
    for (const std::string& name : law_names()) {
        INFO(name);
        const auto law = make_law(name, {.initial = BitRate{1e6}, .highest = BitRate{50e6}});
        REQUIRE(law != nullptr);
        Time now = kStart;
        for (int tick = 0; tick < 10000; ++tick) {
            SynSample sample = quiet(now += 10ms);
            // The path takes what the rate and the window allow, and all of it arrives.
            const double bytes =
                std::min(law->rate().bytes_per_second(), law->window() / seconds(sample.rtt)) *
                0.01;
            sample.sent_packets = static_cast<std::uint64_t>(bytes / 1500) + 1;
            const Passage passage{now - 50ms, now.time_since_epoch()};
            law->on_ack({.now = now,
                         .packets = sample.sent_packets,
                         .bytes = static_cast<std::uint64_t>(bytes),
                         .passages = std::span(&passage, 1),
                         .rtt = sample.rtt,
                         .latest_rtt = sample.rtt,
                         .min_rtt = sample.rtt});
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

TEST_CASE("the pacer wakes for half a burst, or for a packet where that is more") {
    const auto wake_ups_a_second = [](double rate) {
        Pacer pacer;
        pacer.set_rate(kStart, BitRate{rate});
        int count = 0;
        for (Time now = kStart; now < kStart + 1s; now = pacer.ready_at(now)) {
            for (std::size_t budget = pacer.budget(now, 1440); budget > 0;
                 budget = pacer.budget(now, 1440))
                pacer.spend(std::min<std::size_t>(budget, 1440));
            ++count;
        }
        return count;
    };
    CHECK(wake_ups_a_second(1e9) < 20000);  // of 87,000 packets
    CHECK(wake_ups_a_second(1e9) > 8000);   // bursts
    CHECK(wake_ups_a_second(11.52e6) == Approx(1000).epsilon(0.02));
}

TEST_CASE("the pacer lets packets leave at any rate") {
    Pacer pacer;
    pacer.set_rate(kStart, BitRate{1e25});
    CHECK(pacer.budget(kStart + 1ms, 1440) == std::size_t{1} << 30);
}

TEST_CASE("the pacer catches up a few packets where they are longer than a millisecond") {
    Pacer pacer;
    pacer.set_rate(kStart, BitRate{80e6});
    constexpr std::size_t kPacket = 65000;
    CHECK(pacer.budget(kStart + 1s, kPacket) == kPacket);
    std::size_t packets = 0;
    for (; pacer.budget(kStart + 1s, kPacket) > 0; ++packets) pacer.spend(kPacket);
    CHECK(packets == 8);
    // Shorter ones: as many of those.
    packets = 0;
    for (; pacer.budget(kStart + 2s, 1440) > 0; ++packets) pacer.spend(1440);
    CHECK(packets == 8);
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

TEST_CASE("what was under way when the first hop became narrower does not widen it again") {
    PathProbe probe(8972, 28);
    probe.allow(8972);
    probe.received(8972, kStart);
    probe.too_large(8972);
    CHECK(probe.size() == 1200);
    probe.received(8972, kStart + 10ms);
    CHECK(probe.size() == 1200);
    CHECK(probe.next_probe(kStart + 20ms, 10ms) == std::size_t{8971});
    probe.received(1472, kStart + 30ms);
    CHECK(probe.size() == 1472);
}

TEST_CASE("a path that was narrow for a while is tried again, less and less often") {
    PathProbe probe(8972, 28);
    probe.allow(1475);
    Time now = kStart;
    const auto probes_until = [&](Time end) {
        int probes = 0;
        for (; now < end; now += 100ms) {
            if (probe.next_probe(now, 10ms)) ++probes;
            probe.probe_lost();  // the last one is told after all were tried, too
        }
        return probes;
    };
    const int of_one_look = probes_until(kStart + 20s);
    CHECK(of_one_look > 0);
    CHECK(probes_until(kStart + 40s) == of_one_look);  // after 30 s
    CHECK(probes_until(kStart + 80s) == 0);
    CHECK(probes_until(kStart + 100s) == of_one_look);  // after 60 s more
    CHECK(probes_until(kStart + 3h) < of_one_look * 25);
    while (!probe.next_probe(now, 10ms)) now += 100ms;
    probe.received(1475, now);
    CHECK(probe.size() == 1475);
    CHECK(probes_until(now + 1h) == 0);
}
