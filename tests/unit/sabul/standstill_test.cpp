#include "common/sabul/congestion/signals/standstill.h"

#include "common/sabul/congestion/signals/passages.h"
#include "tests/support/catch.h"

namespace lambda::sabul {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRound = 60ms;
const Time kStart{1h};

// Packets that leave each 100 us and would arrive 25 ms later.
class Line {
  public:
    // Arrives with `queue` on top; returns what of it no standstill explains.
    Duration next(Duration queue, Duration apart = 100us) {
        sent_ += apart;
        const Passage passage{sent_, sent_.time_since_epoch() + 25ms + queue};
        return queue - standstill.add(sent_ + 50ms + queue, passage, queue, kRound);
    }
    Time sent() const { return sent_; }

    Standstill standstill;

  private:
    Time sent_ = kStart;
};

}  // namespace

TEST_CASE("standstill: a jump and what follows of it is no queue") {
    Line line;
    for (int i = 0; i < 10; ++i) CHECK(line.next(200us) == 200us);
    const Time before = line.sent();
    CHECK(line.next(40ms) < 300us);
    for (Duration queue = 39900us; queue > 0us; queue -= 100us) CHECK(line.next(queue) <= 300us);
    CHECK(line.standstill.met(before, before + 39ms));
    CHECK_FALSE(line.standstill.met(before - 1ms, before + 39ms));
    CHECK_FALSE(line.standstill.met(before + 41ms, before + 42ms));
    line.next(0us);
    CHECK(line.next(500us) == 500us);
}

TEST_CASE("standstill: a queue that grows is one, however fast it may") {
    Line line;
    Duration queue{0};
    for (int i = 0; i < 200; ++i) {
        queue += 350us;
        CHECK(line.next(queue) == queue);
    }
}

TEST_CASE("standstill: a jump that stays is a queue after some round trips") {
    Line line;
    line.next(0us);
    CHECK(line.next(20ms) < 100us);
    for (int i = 0; i < 100; ++i) line.next(20ms, 10ms);
    CHECK(line.next(20ms) > 19ms);
}

TEST_CASE("standstill: jumps in a row are a slope") {
    Line line;
    line.next(0us);
    CHECK(line.next(5ms) < 1ms);
    CHECK(line.next(10ms) > 4ms);
}

TEST_CASE("standstill: a lull is no standstill, and times that go back are none") {
    Line line;
    line.next(0us);
    CHECK(line.next(8ms, 100ms) == 8ms);
    Standstill standstill;
    standstill.add(kStart + 2s, {kStart + 1s, 10s}, 5ms, kRound);
    CHECK(standstill.add(kStart + 2s, {kStart, 9s}, 90ms, kRound) == 0ms);
}

TEST_CASE(
    "standstill: what leaves once it was heard of has not met it, however long it is said to be") {
    Standstill standstill;
    standstill.add(kStart + 50ms, {kStart, 1s}, 0ms, kRound);
    standstill.add(kStart + 60ms, {kStart + 10ms, 101s}, 100s, kRound);
    CHECK(standstill.met(kStart + 20ms, kStart + 30ms));
    CHECK_FALSE(standstill.met(kStart + 70ms, kStart + 80ms));
}

TEST_CASE("standstill: a bunch is not what the path delivers") {
    constexpr double kRate = 1440 / 100e-6;
    Standstill standstill;
    Passages passages;
    std::uint64_t bytes = 0;
    Duration standing{0};  // until then nothing arrives, and then one packet each 20 us
    for (int i = 0; i < 2000; ++i) {
        const Time sent = kStart + i * 100us;
        const Duration due = sent.time_since_epoch() + 25ms;
        if (i == 500) standing = due + 30ms;
        const Duration arrived = std::max(due, standing);
        standing = standing > due ? arrived + 20us : standing;
        const Duration held = standstill.add(sent + 80ms, {sent, arrived}, arrived - due, kRound);
        passages.add({sent, arrived, arrived - held, bytes += 1440});
        if (i < 400 || i == 500) continue;
        const auto span = passages.lately(25ms, 8ms);
        REQUIRE(span);
        INFO("packet " << i);
        CHECK(span->delivered < 1.05 * kRate);
    }
    CHECK(passages.lately(25ms, 8ms)->delivered > 0.95 * kRate);
}

TEST_CASE("passages: a receiver's clock that stands still makes no endless list") {
    Passages passages;
    for (std::size_t i = 0; i < 3 * Passages::kMost; ++i)
        passages.add({kStart, 1s + i * 1us, 1s + i * 1us, i});
    CHECK(passages.size() == Passages::kMost);
    CHECK(passages.last().bytes == 3 * Passages::kMost - 1);
}

}  // namespace lambda::sabul
