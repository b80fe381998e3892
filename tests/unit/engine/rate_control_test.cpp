// The tick of a transfer's SYN, and what its laws are told by it.
#include "common/engine/rate_control.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::engine;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(1h);
constexpr std::size_t kPacket = 1440;

// A law that goes faster after each round of `T` without a loss, unless it was limited.
session::Terms terms(const std::string& law = "mimd:T=10ms") {
    session::Terms made;
    made.congestion = law;
    made.stripes = 1;
    made.initial_rate = BitRate{100e6};
    return made;
}

// By which factor the law's rate grows within 20 SYNs.
double growth(bool uses_all, bool credit_limited, BitRate limit) {
    RateControl control(terms(), 0, kStart);
    control.set_limit(limit);
    Time now = kStart;
    for (int syn = 0; syn < 20; ++syn) {
        control.on_sent(0, 1, kPacket);
        for (; now < control.next_tick(); now += 250us) {
            while (control.budget(0, now, kPacket) > 0 && uses_all) control.on_sent(0, 1, kPacket);
            control.end_turn();
        }
        control.tick(now, kPacket, credit_limited);
    }
    control.set_limit(BitRate{0});
    return control.rate().bits_per_second / 100e6;
}

}  // namespace

TEST_CASE("a law hears that it was not its rate that held the sender back") {
    CHECK(growth(true, false, BitRate{0}) > 1.01);
    CHECK(growth(true, false, BitRate{1e9}) > 1.01);
    CHECK(growth(true, true, BitRate{0}) == Approx(1));      // the receiver's memory
    CHECK(growth(false, false, BitRate{0}) == Approx(1));    // a slow source
    CHECK(growth(true, false, BitRate{50e6}) == Approx(1));  // the user's limit
}

TEST_CASE("no rate is higher than any that could be agreed, whatever a law makes of its peer") {
    session::Terms mad = terms("fixed");
    mad.initial_rate = BitRate{1e30};
    const RateControl control(mad, 0, kStart);
    CHECK(control.rate(0).bits_per_second == static_cast<double>(session::kMaxRate));
}

TEST_CASE("a tick that comes late is told its true length, and the next is on the grid") {
    RateControl control(terms("mimd:T=30ms"), 0, kStart);
    CHECK(control.next_tick() == kStart + 5ms);
    control.on_sent(0, 1, kPacket);
    Time now = kStart;
    for (; now < kStart + 27ms; now += 250us) {
        while (control.budget(0, now, kPacket) > 0) control.on_sent(0, 1, kPacket);
        control.end_turn();
    }
    control.tick(now, kPacket, false);
    CHECK(control.rate().bits_per_second > 100.01e6);  // a whole round of the law
    CHECK(control.next_tick() == kStart + 35ms);
    control.tick(kStart + 35ms, kPacket, false);
    CHECK(control.next_tick() == kStart + 45ms);
}

TEST_CASE("transfers tick at phases of their own") {
    for (const std::uint64_t seed : {1ull, 123'456ull, 9'999'999ull, ~0ull}) {
        const Time first = RateControl(terms(), seed, kStart).next_tick();
        CHECK(first >= kStart + 5ms);
        CHECK(first < kStart + 10ms);
    }
    CHECK(RateControl(terms(), 1'000'000, kStart).next_tick() !=
          RateControl(terms(), 2'000'000, kStart).next_tick());
}

TEST_CASE("a limit is of all stripes together, and known to be one") {
    session::Terms four = terms("mimd");
    four.stripes = 4;
    RateControl control(four, 0, kStart);
    CHECK(control.rate().bits_per_second == Approx(100e6));
    CHECK_FALSE(control.at_limit(0));
    control.set_limit(BitRate{40e6});
    CHECK(control.rate().bits_per_second == Approx(40e6));
    for (std::uint16_t stripe = 0; stripe < 4; ++stripe) {
        CHECK(control.rate(stripe).bits_per_second == Approx(10e6));
        CHECK(control.at_limit(stripe));
    }
    control.set_limit(BitRate{400e6});
    CHECK_FALSE(control.at_limit(0));
    four.highest_rate = four.initial_rate;  // of the terms
    CHECK(RateControl(four, 0, kStart).at_limit(3));
}
