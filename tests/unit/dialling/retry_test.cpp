#include "common/dialling/retry.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::dialling;
using namespace std::chrono_literals;

TEST_CASE("a session that never stood is not dialled again") {
    Retry retry(1h, 1);
    CHECK_FALSE(retry.pause(Time{} + 5s));
    Retry never(0s, 1);
    never.stood(Time{} + 5s, true);
    CHECK_FALSE(never.pause(Time{} + 5s));
}

TEST_CASE("pauses double, differ by chance, and end with the time") {
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
        Retry retry(10min, seed);
        const Time lost = Time{} + 1000s;
        retry.stood(lost, false);
        Time now = lost;
        Duration most = Retry::kFirstPause;
        std::size_t tries = 0;
        while (const auto pause = retry.pause(now)) {
            CHECK(*pause <= most);
            CHECK((*pause >= most / 2 || now + *pause == lost + 10min));
            now += *pause;
            most = std::min(2 * most, Retry::kLongestPause);
            REQUIRE(++tries < 100);
        }
        CHECK(now == lost + 10min);
        CHECK(tries > 10);
        retry.stood(now, true);  // anew
        CHECK(retry.pause(now).value() <= Retry::kFirstPause);
    }
    Retry one(1h, 1), other(1h, 2);
    one.stood(Time{}, false);
    other.stood(Time{}, false);
    CHECK(one.pause(Time{}) != other.pause(Time{}));
}

TEST_CASE("sessions that stand and move nothing do not prolong the patience") {
    Retry retry(10min, 1);
    Time now = Time{} + 1000s;
    retry.stood(now, false);
    std::size_t tries = 0;
    while (const auto pause = retry.pause(now)) {
        now += *pause + 2min;  // until it is cut, since nothing comes
        retry.stood(now, false);
        REQUIRE(++tries < 100);
    }
    CHECK(now < Time{} + 1000s + 13min);
    CHECK(tries > 3);
    mover::Outcome outcome;
    outcome.sent_packets = 100;
    outcome.bytes_kept = 1;
    CHECK_FALSE(moved_some(outcome));
    outcome.bytes = 1;
    CHECK(moved_some(outcome));
    outcome.bytes = 0;
    outcome.files = 1;  // an empty one
    CHECK(moved_some(outcome));
}

TEST_CASE("what fails in each of several tries is told once, and what the last one mended, never") {
    const auto failed = [](const char* name) {
        mover::Outcome outcome;
        outcome.files = 1;
        outcome.add_failure(name, Error{});
        return outcome;
    };
    Tries tries;
    CHECK_FALSE(tries.any());
    tries.add(failed("dropped"));  // the next does not go over that again
    tries.add(failed("mended"));
    tries.repeat();
    CHECK(tries.all().failed == 2);  // in case that there is no next
    tries.add(failed("each time"));
    tries.repeat();
    tries.add(failed("each time"));
    const mover::Outcome all = tries.all();
    CHECK(all.files == 4);
    CHECK(all.failed == 2);
    REQUIRE(all.failures.size() == 2);
    CHECK(all.failures[0].name == "dropped");
    CHECK(all.failures[1].name == "each time");
}

TEST_CASE("what another transfer writes is no failure of a try that is followed by another") {
    Error busy;
    busy.fault = Fault::cut;
    mover::Outcome first;
    CHECK(busy_file(first) == nullptr);
    first.add_failure("failed", Error{});
    CHECK(busy_file(first) == nullptr);
    first.add_failure("busy", busy);
    CHECK(busy_file(first) == &first.failures.back().error);
    Tries tries;
    tries.add(first);
    CHECK(tries.all().failed == 2);  // in case that there is no next
    tries.add(mover::Outcome{});
    CHECK(tries.all().failed == 1);
    CHECK(tries.all().failures.front().name == "failed");
}

TEST_CASE("a failure of integrity is kept, however many failed before it") {
    Error damaged;
    damaged.fault = Fault::integrity;
    mover::Outcome many, one;
    for (std::size_t i = 0; i < mover::Outcome::kMaxFailures + 5; ++i)
        many.add_failure("file", Error{});
    one.add_failure("damaged", damaged);
    mover::Outcome sum = many;
    add_try(sum, one);
    many.add_failure("damaged", damaged);
    for (const mover::Outcome& outcome : {many, sum}) {
        CHECK(outcome.failed == mover::Outcome::kMaxFailures + 6);
        REQUIRE(outcome.failures.size() == mover::Outcome::kMaxFailures);
        CHECK(outcome.failures.front().name == "file");
        CHECK(outcome.failures.back().name == "damaged");
    }
}

TEST_CASE("tries are one outcome") {
    mover::Outcome sum, first, second;
    first.files = 2;
    first.bytes = 100;
    first.done = {"a", "b"};
    first.cut.emplace();
    first.add_failure("x", Error{});
    second.files = 1;
    second.bytes = 7;
    first.bytes_kept = 20;
    first.adopted = 1;
    second.bytes_kept = 130;  // 100 of them moved before
    second.adopted = 4;       // two of them, too
    second.adopted_bytes = 90;
    second.done = {"c"};
    add_try(sum, first);
    CHECK(sum.cut);
    add_try(sum, second);
    CHECK_FALSE(sum.cut);
    CHECK(sum.cuts == 1);
    CHECK(sum.files == 3);
    CHECK(sum.bytes == 107);
    CHECK(sum.bytes_kept == 30);
    CHECK(sum.adopted == 2);
    CHECK(sum.adopted_bytes == 0);
    CHECK(sum.failed == 1);
    CHECK(sum.failures.size() == 1);
    CHECK(sum.done.size() == 3);
    add_try(sum, {});  // one that did not come to look
    CHECK(sum.cuts == 1);
    CHECK(sum.bytes_kept == 30);
    CHECK(sum.adopted == 2);
    mover::Outcome third;
    third.adopted = 5;  // three of them moved before
    third.adopted_bytes = 1000;
    add_try(sum, third);
    CHECK(sum.adopted == 2);
    CHECK(sum.adopted_bytes == 0);
}

TEST_CASE("stripes are those of the longest try, as its evidence is") {
    using verdict::Figure;
    mover::Outcome sum, longest, last;
    longest.evidence.sender[Figure::elapsed] = 2;
    longest.stripes = {{.bytes = 100}, {.bytes = 101}};
    last.evidence.sender[Figure::elapsed] = 1;
    last.stripes = {{.bytes = 0}};
    add_try(sum, longest);
    add_try(sum, last);
    CHECK(sum.evidence.sender[Figure::elapsed] == 2);
    REQUIRE(sum.stripes.size() == 2);
    CHECK(sum.stripes[1].bytes == 101);
}
