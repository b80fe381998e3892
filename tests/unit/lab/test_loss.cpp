#include "tools/lab/loss.h"

#include "tests/support/catch.h"

using namespace lambda::lab;

namespace {

struct Seen {
    double rate = 0;   // of packets
    double burst = 0;  // mean
};

Seen watch(const Loss& loss, std::uint64_t seed) {
    constexpr int kPackets = 1'000'000;
    LossProcess process;
    process.set(loss);
    Random random(seed);
    int lost = 0, bursts = 0;
    bool before = false;
    for (int i = 0; i < kPackets; ++i) {
        const bool now = process.loses(random);
        lost += now ? 1 : 0;
        bursts += now && !before ? 1 : 0;
        before = now;
    }
    return {.rate = static_cast<double>(lost) / kPackets,
            .burst = bursts > 0 ? static_cast<double>(lost) / bursts : 0};
}

}  // namespace

TEST_CASE("losses have the rate and the mean burst that were asked for") {
    for (const Loss& loss : {Loss{1e-2, 1}, Loss{1e-2, 5}, Loss{1e-3, 20}, Loss{0.3, 3}}) {
        CAPTURE(loss.rate, loss.burst);
        const Seen seen = watch(loss, 7);
        // Some 50 bursts in the least case: a fifth is 1.5 deviations of the mean there.
        CHECK(seen.rate == Approx(loss.rate).epsilon(loss.rate < 5e-3 ? 0.3 : 0.05));
        // Independent losses stand together by chance.
        const double burst = loss.burst > 1 ? loss.burst : 1 / (1 - loss.rate);
        CHECK(seen.burst == Approx(burst).epsilon(loss.rate < 5e-3 ? 0.3 : 0.05));
    }
}

TEST_CASE("no loss draws no number, all loss spares none") {
    Random used(3), untouched(3);
    LossProcess process;
    CHECK_FALSE(process.loses(used));
    CHECK(used.unit() == untouched.unit());
    CHECK(watch({1, 1}, 1).rate == 1);
}

TEST_CASE("the same seed loses the same packets") {
    CHECK(watch({1e-2, 5}, 11).rate == watch({1e-2, 5}, 11).rate);
    CHECK(watch({1e-2, 5}, 11).rate != watch({1e-2, 5}, 12).rate);
}
