// What the client of a get knows of the sender at its end.
#include "tests/support/catch.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;
using verdict::Figure;

TEST_CASE("a get that waits for the last word has all of the sender's figures") {
    const std::size_t bytes = GENERATE(std::size_t{1000}, std::size_t{8} << 20);
    Options options;
    options.terms.direction = session::Direction::get;
    options.terms.initial_rate = BitRate{200e6};
    options.feedback_delay = 50ms;
    Run run(3, options, {{"file", "file"}}, transfer::Target{"copy", false});
    run.source.files["file"] = {random_bytes(bytes, 1), 5, 0644};
    REQUIRE(run.run());
    const auto& sent = run.sender->outcome();
    const auto& heard = run.receiver->outcome().evidence.sender;
    CHECK(heard[Figure::sent] == sent.sent_packets);
    CHECK(heard[Figure::elapsed] == sent.evidence.sender[Figure::elapsed]);
}
