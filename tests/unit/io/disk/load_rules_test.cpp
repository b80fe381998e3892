// When a thread gives a part of its work to another one.
#include "common/io/disk/load_rules.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::io;
using namespace std::chrono_literals;

namespace {

// A thread's time goes on by what each interval gave it, in parts of the interval.
struct Thread {
    Overload rule;
    Overload::Reading now{.at = Time(1s)};

    bool spend(double ran, double waited) {
        now.at += Overload::kInterval;
        now.ran += from_seconds(ran * seconds(Overload::kInterval));
        now.waited += from_seconds(waited * seconds(Overload::kInterval));
        return rule.look(now);
    }
};

// Likewise, and of all processors.
struct Machine {
    Spare rule;
    Spare::Reading now{.at = Time(1s)};

    bool spend(double ran, double waited, double idle, Duration wall = Spare::kInterval) {
        now.at += wall;
        now.ran += from_seconds(ran * seconds(wall));
        now.waited += from_seconds(waited * seconds(wall));
        now.idle += idle * seconds(wall);
        return rule.look(now);
    }
};

}  // namespace

TEST_CASE("a thread that has a processor to itself and is always busy is overloaded") {
    Thread thread;
    CHECK_FALSE(thread.rule.look(thread.now));  // nothing is known by one reading
    CHECK_FALSE(thread.spend(0.6, 0));
    CHECK(thread.spend(0.98, 0.01));
    for (int i = 0; i < 20; ++i) CHECK(thread.spend(0.65, 0.15));  // with less to do, still
}

TEST_CASE("a thread that waits for a processor has nobody to give its work to") {
    Thread thread;
    thread.rule.look(thread.now);
    for (int i = 0; i < 20; ++i) CHECK_FALSE(thread.spend(0.79, 0.21));
}

TEST_CASE("a thread takes its work back once processors are fought over, not at one hiccup") {
    Thread thread;
    thread.rule.look(thread.now);
    REQUIRE(thread.spend(1, 0));
    for (int i = 0; i < 10; ++i) {
        for (int hiccup = 0; hiccup < 3; ++hiccup) CHECK(thread.spend(0.4, 0.6));
        CHECK(thread.spend(0.7, 0.1));
    }
    bool overloaded = true;
    for (int i = 0; i < 4; ++i) overloaded = thread.spend(0.4, 0.6);
    CHECK_FALSE(overloaded);
    CHECK_FALSE(thread.spend(1, 0));  // not again at once
    for (int i = 0; i < 30; ++i) overloaded = thread.spend(1, 0);
    CHECK(overloaded);
}

TEST_CASE("a thread goes on giving its work away where three threads share two processors") {
    Thread thread;
    thread.rule.look(thread.now);
    REQUIRE(thread.spend(1, 0));
    for (int i = 0; i < 20; ++i) CHECK(thread.spend(0.55, 0.4));
}

TEST_CASE("a thread that sleeps takes its work back") {
    // It has little to do; or who took the work over is slow at it.
    const auto [ran, waited] = GENERATE(std::pair{0.2, 0.0}, std::pair{0.45, 0.25});
    Thread thread;
    thread.rule.look(thread.now);
    REQUIRE(thread.spend(1, 0));
    bool overloaded = true;
    for (int i = 0; i < 4; ++i) overloaded = thread.spend(ran, waited);
    CHECK_FALSE(overloaded);
}

TEST_CASE("the pause grows where it goes wrong each time, and is short again where it went well") {
    Thread thread;
    thread.rule.look(thread.now);
    const auto pause = [&] {  // until it gives its work away again
        for (int i = 0; i < 4; ++i) thread.spend(0.4, 0.6);
        const Time begun = thread.now.at;
        while (!thread.spend(1, 0)) {
        }
        return thread.now.at - begun;
    };
    REQUIRE(thread.spend(1, 0));
    for (const Duration expected : {500ms, 1000ms, 2000ms, 4000ms, 8000ms, 8000ms})
        CHECK(pause() == expected);
    for (int i = 0; i < 1000; ++i) thread.spend(0.7, 0.1);  // 20 s
    CHECK(pause() == 500ms);
}

TEST_CASE("what one of two can do alone is left to others where half a processor is idle") {
    Machine machine;
    CHECK_FALSE(machine.rule.look(machine.now));  // nothing is known by one reading
    CHECK(machine.rule.next() == machine.now.at + Spare::kInterval);
    CHECK_FALSE(machine.spend(1, 0, 0.4));
    CHECK_FALSE(machine.spend(0.7, 0, 0.9));     // it can do it itself
    CHECK_FALSE(machine.spend(0.8, 0.2, 62.0));  // of processors that it may not use
    CHECK(machine.spend(1, 0, 0.6));
    CHECK(machine.rule.next() == machine.now.at + Spare::kFirst);
}

TEST_CASE("whether others still have time for it shows when a thread does it itself") {
    Machine machine;
    machine.rule.look(machine.now);
    // Twice as long each time, and from the first again once it was wrong.
    for (int round = 0; round < 2; ++round) {
        for (Duration left = Spare::kFirst; left <= Spare::kLongest; left *= 2) {
            REQUIRE(machine.spend(1, 0, 1));
            CHECK(machine.rule.next() == machine.now.at + left);
            // What was idle while others did it says nothing.
            CHECK_FALSE(machine.spend(1, 0, 1, left));
            CHECK(machine.rule.next() == machine.now.at + Spare::kInterval);
        }
        REQUIRE(machine.spend(1, 0, 1));
        CHECK(machine.rule.next() == machine.now.at + Spare::kLongest);
        CHECK_FALSE(machine.spend(1, 0, 1, Spare::kLongest));
        CHECK_FALSE(machine.spend(1, 0, 0.1));
        CHECK_FALSE(machine.spend(1, 0, 0.1));
    }
}

TEST_CASE("what a thread was held up in is left to others, and what is not known is not") {
    Machine machine;
    machine.rule.look(machine.now);
    for (const Duration left : {Spare::kFirst, 2 * Spare::kFirst}) {
        machine.rule.leave(machine.now.at);
        CHECK(machine.rule.next() == machine.now.at + left);
        CHECK_FALSE(machine.spend(1, 0, 1, left));  // it tries again
    }
    REQUIRE(machine.spend(1, 0, 1));
    machine.rule.pass(machine.now.at);
    CHECK(machine.rule.next() == machine.now.at + Spare::kInterval);
    // All that was idle since the machine started is no more than nothing to compare with.
    CHECK_FALSE(machine.spend(1, 0, 1e6));
    CHECK_FALSE(machine.spend(1, 0, 0.1));
}
