// The end of a transfer over a path that loses much: what is lost there again, nothing fresh hides.
#include "common/engine/resends.h"
#include "tests/simulation/one.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

namespace {

Options lossy_path(Duration way, double loss) {
    Options made = options();
    made.terms.stripes = 2;
    made.terms.highest_rate = BitRate{100e6};
    made.forward.delay = made.backward.delay = made.feedback_delay = way;
    made.forward.loss = loss;
    return made;
}

}  // namespace

TEST_CASE("tail: so many copies go that hardly a place is lost each time") {
    using engine::Resends;
    CHECK(Resends::times(0, 0) == 1);
    CHECK(Resends::times(1, 10'000) == 1);
    CHECK(Resends::times(1, 1'000) == 2);
    CHECK(Resends::times(1, 100) == 2);
    CHECK(Resends::times(5, 100) == 3);
    CHECK(Resends::times(90, 100) == Resends::kMostTimes);
    CHECK(Resends::times(3, 2) == Resends::kMostTimes);
}

TEST_CASE("tail: what is lost again and again costs few round trips") {
    One one(lossy_path(100ms, 0.3), kMiB);
    one.expect_identical();
    const auto& sent = one.run.sender->outcome();
    UNSCOPED_INFO(sent.transfer_seconds << " s, " << sent.sent_packets << " packets");
    // A path that loses so much takes 730 packets five or six times, in each a round trip and more.
    CHECK(sent.transfer_seconds < 1.2);
    // 0.3 + 0.3 * 4 of them, and what is told late.
    CHECK(sent.retransmitted_packets < 2 * 730);
}

TEST_CASE("tail: while there is something fresh, nothing is sent twice") {
    One one(lossy_path(5ms, 0.05), 64 * kMiB);
    one.expect_identical();
    const auto& sent = one.run.sender->outcome();
    INFO(sent.lost_packets << " lost, " << sent.retransmitted_packets << " sent again");
    CHECK(sent.retransmitted_packets >= sent.lost_packets * 95 / 100);
    CHECK(sent.retransmitted_packets < sent.lost_packets * 3 / 2);  // thrice each, if always
}
