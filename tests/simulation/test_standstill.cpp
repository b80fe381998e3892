// Where nothing moves, each end says why within seconds.
#include "common/engine/stall.h"
#include "tests/simulation/one.h"

using namespace lambda;
using namespace lambda::simulation;

namespace {

constexpr Duration kWait = engine::kStandstill + std::chrono::seconds(2);

struct Told {
    std::string sender, receiver;
};

// After so long, by when the transfer is not over.
Told told(Run& run, Duration after = kWait) {
    run.options.limit = after;
    REQUIRE_FALSE(run.run());
    return {std::string(run.sender->progress().standstill),
            std::string(run.receiver->progress().standstill)};
}

constexpr auto kDirections = {session::Direction::put, session::Direction::get};

}  // namespace

TEST_CASE("standstill: no UDP packet ever comes across") {
    for (const auto direction : kDirections) {
        Options given = options(direction);
        given.forward.dead = true;
        One one(given);
        const Told why = told(one.run);
        // A server sends nothing before it was greeted.
        CHECK(why.sender.find("gets none of our UDP packets") != std::string::npos);
        CHECK(why.receiver.find("none of the sender's UDP packets arrives") != std::string::npos);
    }
}

TEST_CASE("standstill: a server hears no greeting") {
    Options given = options(session::Direction::get);
    given.backward.dead = true;
    One one(given);
    const std::string why = told(one.run).receiver;
    CHECK(why.find("or gets none of our UDP packets") != std::string::npos);
}

TEST_CASE("standstill: the path dies in mid-transfer") {
    for (const auto direction : kDirections) {
        Options given = options(direction);
        given.terms.highest_rate = given.terms.initial_rate = BitRate{20e6};
        One one(given);
        one.run.world.after(std::chrono::seconds(1), [&] { one.run.options.forward.dead = true; });
        const Told why = told(one.run, std::chrono::seconds(1) + kWait);
        CHECK(why.sender == "the receiver acknowledges none of our UDP packets any more");
        CHECK(why.receiver == "the sender's UDP packets do not arrive any more");
    }
}

TEST_CASE("standstill: no connection stands") {
    One one(options());
    one.run.feedback.refuse = true;
    const Told why = told(one.run);
    CHECK(why.sender == engine::kNoConnection);
    CHECK(why.receiver == engine::kNoConnection);
}

TEST_CASE("standstill: a disk does nothing") {
    for (const auto direction : kDirections) {
        One reads(options(direction)), writes(options(direction));
        reads.run.source.stalled_until = reads.run.world.now() + std::chrono::hours(1);
        const Told at_source = told(reads.run);
        CHECK(at_source.sender == engine::kOwnDisk);
        CHECK(at_source.receiver == "the sender is at work on its disk");
        writes.run.target.stalled_until = writes.run.world.now() + std::chrono::hours(1);
        const Told at_target = told(writes.run);
        CHECK(at_target.sender == "the receiver is at work on its disk");
        CHECK(at_target.receiver == engine::kOwnDisk);
    }
}

TEST_CASE("standstill: what is slow by its rate is no standstill") {
    Options given = options();
    given.terms.highest_rate = given.terms.initial_rate = BitRate{1000};
    One one(given);
    CHECK(told(one.run, std::chrono::minutes(1)).sender.empty());
}
