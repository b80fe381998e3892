// Sounding a full path, most of which is others'.
#include "common/sabul/congestion/sounding.h"

#include "common/sabul/congestion/signals/rate_history.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Duration kRtt = 20ms, kWidth = 20ms, kRound = 30ms;
constexpr double kCapacity = 100e6;  // bytes a second

struct Sounded {
    double capacity = 0;
    Duration took{0};
    double most = 0;  // of what was sent, by `ours`
};

// A part of each period in which others send more.
struct Wave {
    Duration length{0}, period = 8 * kRound, phase{0};
};

// The others fill what is left of the path, and in the wave a quarter more.
Sounded sound(double ours, const Wave& wave, bool limited = false) {
    Time now{1h};
    const Time begin = now;
    Sounding sounding(now, kWidth, kRound);
    RateHistory sendings;
    Sounded sounded;
    while (!sounding.done() && now < begin + 10s) {
        now += 10ms;
        const double factor = sounding.factor(now);
        sounded.most = std::max(sounded.most, factor);
        sendings.set(now, factor * ours);
        const Time to = now - kRtt, from = to - kWidth;
        const double sent = sendings.mean(from, to);
        const bool more = (to - begin + wave.phase) % wave.period < wave.length;
        const double others = (more ? 1.25 : 1) * (kCapacity - ours);
        sounding.step(now,
                      {.sent_from = from,
                       .sent_to = to,
                       .sent = sent,
                       .delivered = sent * kCapacity / (sent + others),
                       .limited = limited,
                       .width = kWidth},
                      kRound);
    }
    sounded.took = now - begin;
    if (sounding.done()) sounded.capacity = sounding.capacity();
    return sounded;
}

}  // namespace

TEST_CASE("sounding: tells what a path carries from a small part of it") {
    for (const double share : {0.08, 0.1, 0.25, 0.33, 0.5}) {
        CAPTURE(share);
        const Sounded sounded = sound(share * kCapacity, {});
        CHECK(sounded.capacity == Approx(kCapacity).epsilon(0.05));
        CHECK(sounded.most == 2);
        CHECK(sounded.took < 2s);
    }
}

TEST_CASE("sounding: of a very small part, twenty times it") {
    CHECK(sound(0.01 * kCapacity, {}).capacity == Approx(0.2 * kCapacity).epsilon(0.05));
}

TEST_CASE("sounding: a quarter of a path is told from a tenth beside BBR, too") {
    CHECK(sound(0.3 * kCapacity, {kRound}).capacity < 4 * 0.3 * kCapacity);
    CHECK(sound(0.1 * kCapacity, {kRound}).capacity > 4 * 0.1 * kCapacity);
}

TEST_CASE("sounding: others who send more now and then are no part of the answer") {
    for (Duration period = 200ms; period <= 300ms; period += 10ms) {
        for (Duration phase = 0ms; phase < period; phase += 10ms) {
            CAPTURE(period.count(), phase.count());
            const double capacity = sound(0.1 * kCapacity, {kRound, period, phase}).capacity;
            CHECK(capacity > 0.95 * kCapacity);
            CHECK(capacity < 2 * kCapacity);
        }
    }
}

TEST_CASE("sounding: says nothing while the rate is not used") {
    CHECK(sound(0.1 * kCapacity, {}, true).capacity == 0);
}
