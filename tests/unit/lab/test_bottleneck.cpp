#include "tools/lab/bottleneck.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::lab;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr BitRate kByteEachMicrosecond{8e6};
constexpr Time kBegin{std::chrono::seconds(100)};

Bottleneck queue_of(std::uint64_t bytes) {
    return {kBegin, kByteEachMicrosecond, kByteEachMicrosecond, bytes};
}

}  // namespace

TEST_CASE("packets leave one after the other at the rate, whenever one looks") {
    Bottleneck queue = queue_of(10'000);
    const auto one = queue.offer(kBegin, 1000);
    const auto two = queue.offer(kBegin, 500);
    const auto three = queue.offer(kBegin + microseconds(1200), 100);
    REQUIRE((one && two && three));
    CHECK(queue.departure(*two) == kBegin + microseconds(1500));
    CHECK(queue.departure(*three) == kBegin + microseconds(1600));
    // The link was idle in between.
    const auto late = queue.offer(kBegin + milliseconds(5), 100);
    REQUIRE(late);
    CHECK(queue.departure(*late) == kBegin + microseconds(5100));
}

TEST_CASE("a packet that does not fit is dropped, and fits once there is room") {
    Bottleneck queue = queue_of(3000);
    CHECK(queue.offer(kBegin, 1500));
    CHECK(queue.offer(kBegin, 1500));
    CHECK_FALSE(queue.offer(kBegin, 1));
    CHECK_FALSE(queue.offer(kBegin + microseconds(999), 1000));
    CHECK(queue.offer(kBegin + microseconds(1000), 1000));
    CHECK(queue.backlog() == Approx(3000));
}

TEST_CASE("what waits goes on at a new rate") {
    Bottleneck queue = queue_of(10'000);
    const auto one = queue.offer(kBegin, 1000);
    const auto two = queue.offer(kBegin, 1000);
    REQUIRE((one && two));
    // Half of the first has left; from here on four times slower.
    queue.set_rate(kBegin + microseconds(500), BitRate{2e6});
    CHECK(queue.departure(*one) == kBegin + microseconds(2500));
    CHECK(queue.departure(*two) == kBegin + microseconds(6500));
}

TEST_CASE("the queue's figures are those worked out by hand") {
    Bottleneck queue = queue_of(3000);
    CHECK(queue.offer(kBegin, 1500));
    CHECK(queue.offer(kBegin, 1500));
    // A triangle of 3000 bytes and 3 ms, then as long nothing.
    const QueueFigures figures = queue.figures(kBegin + milliseconds(6));
    CHECK(figures.mean_bytes == Approx(750));
    CHECK(figures.mean_ms == Approx(0.75));
    CHECK(figures.most_bytes == Approx(3000));
    CHECK(figures.capacity_bytes == Approx(6000));
    // Of 60 samples, 100 us apart, the fourth largest.
    CHECK(figures.p95_bytes == Approx(2600).margin(2));
    CHECK(figures.p95_ms == Approx(2.6).margin(0.002));
}

TEST_CASE("figures of a changing rate, and after a reset") {
    Bottleneck queue(kBegin, kByteEachMicrosecond, BitRate{4e6}, 4000);
    CHECK(queue.offer(kBegin, 2000));
    // At 1 ms 1000 bytes are left, for which 2 ms are needed from there.
    queue.set_rate(kBegin + milliseconds(1), BitRate{4e6});
    QueueFigures figures = queue.figures(kBegin + milliseconds(4));
    CHECK(figures.mean_bytes == Approx((1500.0 * 1 + 500.0 * 2) / 4));
    CHECK(figures.mean_ms == Approx((1.5 * 1 + 1.0 * 2) / 4));
    CHECK(figures.capacity_bytes == Approx(1000 + 1500));

    queue.reset(kBegin + milliseconds(4));
    figures = queue.figures(kBegin + milliseconds(8));
    CHECK(figures.mean_bytes == 0);
    CHECK(figures.p95_bytes == 0);
    CHECK(figures.most_bytes == 0);
    CHECK(figures.capacity_bytes == Approx(2000));
}
