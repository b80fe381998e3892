// How often a stripe of the receiver tells, by what TCP knows of the way back.
#include "common/engine/tell_pace.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::engine;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(1h);

Duration pause_of(const TellPace& pace) {
    return pace.next() - kStart;
}

}  // namespace

TEST_CASE("the more a way back loses, the longer is the pause, up to three SYNs") {
    struct Row {
        Duration round_trip;
        double lost;
        Duration pause;
    };
    for (const Row& row :
         {Row{100ms, 0, 0ms}, Row{100ms, 0.0074, 0ms},  // 2.47 ms are wanted: less than syn/4
          Row{100ms, 0.0076, 10ms},                     // no less than a SYN
          Row{100ms, 0.06, 20ms}, Row{100ms, 0.5, 30ms},
          Row{19ms, 0.5, 0ms},  // what waits for one lost comes soon
          Row{20ms, 0.5, 30ms}}) {
        INFO(row.round_trip.count() << " ns, lost " << row.lost);
        TellPace pace(10ms);
        pace.measured({row.round_trip, row.lost});
        pace.told(kStart, row.round_trip, 0);
        CHECK(seconds(pause_of(pace)) == Approx(seconds(row.pause)));
    }
}

TEST_CASE("what waits for TCP's window for long is told late, and a new connection tells at once") {
    TellPace pace(10ms);
    CHECK(pace.next() == Time{});
    pace.told(kStart, 100ms, 1400);
    CHECK(pause_of(pace) == 0ms);
    pace.told(kStart, 19ms, 1 << 20);
    CHECK(pause_of(pace) == 0ms);
    pace.told(kStart, 100ms, 1401);
    CHECK(pause_of(pace) == 30ms);
    pace.renew();
    CHECK(pace.next() == Time{});
    // Its path is the same.
    pace.measured({100ms, 0.06});
    pace.renew();
    pace.told(kStart, 100ms, 0);
    CHECK(seconds(pause_of(pace)) == Approx(0.02));
    pace.measured({100ms, 0});
    pace.told(kStart, 100ms, 0);
    CHECK(pause_of(pace) == 0ms);
}
