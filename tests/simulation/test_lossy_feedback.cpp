// A path that loses a part of what goes back to the sender, over TCP: what is lost holds up all
// behind it, and leaves TCP a small window.
#include "tests/simulation/one.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

namespace {

struct Moved {
    double seconds = 0;
    double told = 0;    // a stripe and second
    double rtt_ms = 0;  // with what feedback waits for
};

Moved move(Duration way, double loss, double room = 0) {
    Options given = options();
    given.terms.stripes = 2;
    given.terms.initial_rate = BitRate{100e6};
    given.terms.highest_rate = BitRate{100e6};
    given.forward.delay = given.backward.delay = given.feedback_delay = way;
    given.forward.loss = loss;
    One one(given, 64 * kMiB);
    one.run.feedback.set_loss(loss);
    one.run.feedback.set_room(room);
    one.expect_identical();
    const double seconds = one.run.receiver->outcome().transfer_seconds;
    return {seconds, static_cast<double>(one.run.feedback.segments()) / seconds / 2,
            one.run.sender->outcome().stripes[0].rtt_ms};
}

}  // namespace

TEST_CASE("lossy feedback: on a long path a receiver tells less often, and more at once") {
    const Moved clean = move(100ms, 0), lossy = move(100ms, 0.05);
    CHECK(clean.told > 80);  // a SYN is 10 ms
    CHECK(lossy.told < 60);  // every 33 ms, and what the sender says
    CHECK(lossy.seconds < 1.5 * clean.seconds);
}

TEST_CASE("lossy feedback: on a short path it tells at once what is missing") {
    CHECK(move(5ms, 0.05).told > 100);
}

TEST_CASE("lossy feedback: where TCP has no window for it, less is told, and nothing old") {
    const Moved wide = move(100ms, 0), narrow = move(100ms, 0, 6000);
    CHECK(wide.told * 80 > 6000);  // bytes a second
    CHECK(narrow.told < 0.75 * wide.told);
    CHECK(narrow.rtt_ms < wide.rtt_ms + 2 * 1e3 * 1400 / 6000);  // two segments before it
}
