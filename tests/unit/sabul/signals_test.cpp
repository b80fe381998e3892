// The signals that the default law stands on.
#include "common/sabul/congestion/signals/loss_window.h"
#include "common/sabul/congestion/signals/one_way_delay.h"
#include "common/sabul/congestion/signals/rate_history.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(std::chrono::hours(1));

}  // namespace

TEST_CASE("one-way delay: above the least, which is forgotten after ten seconds") {
    OneWayDelay delay(10s);
    const auto at = [&](Duration after, Duration one_way) {
        const Time sent = kStart + after;
        return delay.add(sent + one_way, {sent, sent.time_since_epoch() + one_way - 3h}, 0s);
    };
    CHECK(at(0s, 10ms) == 0ms);
    CHECK(at(100ms, 13ms) == 3ms);
    CHECK(at(200ms, 8ms) == 0ms);
    CHECK(at(5s, 9ms) == 1ms);
    CHECK(at(12s, 12ms) == 3ms);  // the 8 ms are too old, the 9 ms are not
    delay.raise(2ms);
    CHECK(at(12s + 1ms, 12ms) == 1ms);
}

TEST_CASE("one-way delay: when the base was last seen follows the base that is left") {
    OneWayDelay delay(10s);
    const auto at = [&](Duration after, Duration one_way) {
        const Time sent = kStart + after;
        delay.add(sent, {sent, sent.time_since_epoch() + one_way - 3h}, 0s);
        return delay.base_seen(sent) - kStart;
    };
    CHECK(at(0s, 8ms) == 0s);
    CHECK(at(1500ms, 9ms) == 0s);
    CHECK(at(2s, 8ms + 10us) == 2s);  // the same, but for the clocks' grain
    CHECK(at(7s, 9ms) == 2s);
    CHECK(at(11500ms, 12ms) == 2s);
    CHECK(at(12500ms, 12ms) == 7s);  // who left at 2 s is forgotten, and 9 ms are the base
}

TEST_CASE("loss window: by time, and further back until there are enough") {
    LossWindow window;
    window.add(kStart, 10, 90);
    window.add(kStart + 1s, 0, 100);
    CHECK(window.share(kStart + 1s, 500ms, 50).value() == Approx(0.0));
    CHECK(window.share(kStart + 1s, 500ms, 150).value() == Approx(0.05));
    CHECK_FALSE(window.share(kStart + 1s, 500ms, 500));
    window.add(kStart + 2s, -8, 0);  // late arrivals
    CHECK(window.share(kStart + 2s, 10s, 1).value() == Approx(2.0 / 192));
}

TEST_CASE("rate history: the mean of the time when packets left") {
    RateHistory history;
    history.set(kStart, 100);
    history.set(kStart + 1s, 200);
    CHECK(history.mean(kStart + 500ms, kStart + 500ms) == Approx(100));
    CHECK(history.mean(kStart, kStart + 2s) == Approx(150));
    CHECK(history.mean(kStart - 5s, kStart) == Approx(100));
    CHECK(history.most_since(kStart + 1500ms) == Approx(200));
    for (int i = 0; i < 3000; ++i) history.set(kStart + 2s + i * 1ms, i);
    CHECK(history.mean(kStart + 4s, kStart + 4s) == Approx(2000).margin(2));
}

TEST_CASE("rate history: what does not change takes no room") {
    RateHistory history;
    history.set(kStart, 100);
    for (int i = 0; i < 3000; ++i) history.set(kStart + 1s + i * 1ms, 200);
    CHECK(history.mean(kStart + 500ms, kStart + 1500ms) == Approx(150));
    CHECK(history.most_since(kStart + 500ms) == Approx(200));
}
