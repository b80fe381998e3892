// The rule: which of what both ends measured held a transfer back.
#include "common/verdict/verdict.h"

#include "common/verdict/wording.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::verdict;

namespace {

constexpr std::uint64_t kSecond = 1'000'000;

// Ten seconds in which both ends were idle for the most part.
Evidence ten_seconds() {
    Evidence evidence;
    evidence.law = "sabul";
    evidence.memory = 64 << 20;
    for (Figures* end : {&evidence.sender, &evidence.receiver}) {
        (*end)[Figure::elapsed] = 10 * kSecond;
        (*end)[Figure::busy] = kSecond;
    }
    evidence.sender[Figure::sent] = 100'000;
    evidence.sender[Figure::least_rtt] = 50'000;
    return evidence;
}

Evidence waiting_for(Figure figure, double share = 0.8) {
    Evidence evidence = ten_seconds();
    evidence.sender[figure] = static_cast<std::uint64_t>(share * 10 * kSecond);
    return evidence;
}

}  // namespace

TEST_CASE("what the sender waited for most is the cause") {
    CHECK(judge(waiting_for(Figure::source)).cause == Cause::source_disk);
    CHECK(judge(waiting_for(Figure::window)).cause == Cause::path_window);
    CHECK(judge(waiting_for(Figure::memory)).cause == Cause::path_window);
    CHECK(judge(waiting_for(Figure::buffer)).cause == Cause::receive_buffer);
    CHECK(judge(waiting_for(Figure::limit)).cause == Cause::rate_limit);
    CHECK(judge(waiting_for(Figure::finish)).cause == Cause::destination_disk);
    CHECK(judge(waiting_for(Figure::silence)).cause == Cause::path_dead);
    CHECK(judge(waiting_for(Figure::busy, 0.95)).cause == Cause::sender_cpu);
    CHECK(judge(waiting_for(Figure::stalled)).cause == Cause::sender_stall);
    CHECK(judge(waiting_for(Figure::pace)).cause == Cause::path_rate);
}

TEST_CASE("the share is that of the cause, and never more than all") {
    CHECK(judge(waiting_for(Figure::source, 0.6)).share == Approx(0.6));
    Evidence evidence = waiting_for(Figure::pace, 0.7);
    evidence.sender[Figure::tail] = 7 * kSecond;
    CHECK(judge(evidence).share == Approx(1.0));
}

TEST_CASE("an empty credit is the disk's where the disk kept the ring, and else the memory's") {
    Evidence evidence = waiting_for(Figure::credit);
    CHECK(judge(evidence).cause == Cause::path_window);
    evidence.receiver[Figure::disk] = 6 * kSecond;
    CHECK(judge(evidence).cause == Cause::destination_disk);
}

TEST_CASE("a round trip that nobody can have is told within bounds") {
    Evidence evidence = waiting_for(Figure::memory);
    evidence.sender[Figure::least_rtt] = UINT64_MAX;
    CHECK(why(evidence, Cause::path_window, 0.8).find("round trip of 1:00:00") !=
          std::string::npos);
}

TEST_CASE("of window and ring the one that is said is the one to raise") {
    Evidence evidence = waiting_for(Figure::memory, 0.5);
    evidence.sender[Figure::window] = 3 * kSecond;
    CHECK(judge(evidence).cause == Cause::path_window);
    CHECK(judge(evidence).remedy.starts_with("raise --memory"));
    evidence.sender[Figure::window] = 6 * kSecond;
    CHECK(judge(evidence).why.find("the window of") != std::string::npos);
    CHECK(judge(evidence).remedy == "raise --window, or leave it out");
}

TEST_CASE("a ring that is too small is raised where its bound is") {
    Evidence evidence = waiting_for(Figure::credit);
    evidence.memory = 16 << 20;
    CHECK(judge(evidence).why.find("the ring of 16.00 MiB in memory is too small") !=
          std::string::npos);
    CHECK(judge(evidence).remedy == "raise --memory, or transfer_memory at the server");
    evidence.room = {.wanted = 16 << 20, .beyond = 96 << 20};
    CHECK(judge(evidence).remedy == "raise --memory above 96.00 MiB");
    evidence.room = {.wanted = 176 << 20, .beyond = 0};
    CHECK(judge(evidence).remedy == "raise transfer_memory at the server");
    evidence.between_servers = true;
    CHECK(judge(evidence).remedy == "raise transfer_memory at the servers");
    evidence.memory = 176 << 20;
    CHECK(judge(evidence).remedy.starts_with("no ring is larger"));
}

TEST_CASE("the default law is no remedy for itself") {
    Evidence evidence = waiting_for(Figure::pace, 0.08);
    for (Figures* end : {&evidence.sender, &evidence.receiver}) {
        (*end)[Figure::elapsed] = kSecond;
        (*end)[Figure::busy] = kSecond / 10;
    }
    REQUIRE(judge(evidence).cause == Cause::law);
    CHECK(judge(evidence).remedy == "move more data");
    evidence.law = "sabul2000";
    CHECK(judge(evidence).remedy == "move more data, or take --congestion sabul");
}

TEST_CASE("behind a law that holds back stands the receiver, where it has all hands full") {
    Evidence evidence = waiting_for(Figure::pace);
    evidence.receiver[Figure::busy] = 9 * kSecond;
    CHECK(judge(evidence).cause == Cause::receiver_cpu);
    for (const Figure figure : {Figure::buffer, Figure::silence}) {
        evidence = waiting_for(figure);
        evidence.receiver[Figure::busy] = 9 * kSecond;
        CHECK(judge(evidence).cause == Cause::receiver_cpu);
    }
}

TEST_CASE("loss with an empty queue holds laws that take each loss for congestion") {
    Evidence evidence = waiting_for(Figure::law_window);
    evidence.law = "reno";
    evidence.law_yields_to_loss = true;
    CHECK(judge(evidence).cause == Cause::law);  // it was still growing
    evidence.sender[Figure::lost] = 100;
    evidence.sender[Figure::queue_at_loss] = 1'000;
    CHECK(judge(evidence).cause == Cause::path_loss);
    CHECK(judge(evidence).why.find("0.1 %") != std::string::npos);
    evidence.sender[Figure::queue_at_loss] = 20'000;
    CHECK(judge(evidence).cause == Cause::path_rate);
    evidence.law_yields_to_loss = false;
    evidence.sender[Figure::queue_at_loss] = 1'000;
    CHECK(judge(evidence).cause == Cause::path_rate);
}

TEST_CASE("losses that the receiver's socket dropped are its buffer's") {
    Evidence evidence = waiting_for(Figure::pace);
    evidence.sender[Figure::lost] = 100;
    evidence.receiver[Figure::drops] = 40;
    CHECK(judge(evidence).cause == Cause::path_rate);
    evidence.receiver[Figure::drops] = 60;
    CHECK(judge(evidence).cause == Cause::receive_buffer);
}

TEST_CASE("a law that keeps its rate is the cause itself") {
    Evidence evidence = waiting_for(Figure::pace);
    evidence.law = "fixed";
    evidence.law_is_fixed = true;
    CHECK(judge(evidence).cause == Cause::law);
}

TEST_CASE("a law that measures has to have had the time for it") {
    Evidence evidence = waiting_for(Figure::pace, 0.08);
    for (Figures* end : {&evidence.sender, &evidence.receiver}) {
        (*end)[Figure::elapsed] = kSecond;
        (*end)[Figure::busy] = kSecond / 10;
    }
    CHECK(judge(evidence).cause == Cause::law);
    evidence.sender[Figure::queue] = 20'000;  // it has filled a queue already
    CHECK(judge(evidence).cause == Cause::path_rate);
}

TEST_CASE("a receiver that stood still is no silent path") {
    Evidence evidence = waiting_for(Figure::silence, 0.5);
    evidence.sender[Figure::pace] = 2 * kSecond;
    evidence.receiver[Figure::stalled] = 6 * kSecond;
    CHECK(judge(evidence).cause == Cause::receiver_stall);
    // Nor a path that was full: the law's waiting for it is taken off.
    evidence = waiting_for(Figure::law_window, 0.9);
    evidence.receiver[Figure::stalled] = 6 * kSecond;
    CHECK(judge(evidence).cause == Cause::receiver_stall);
}

TEST_CASE("what is too short, or was never measured, is not judged") {
    Evidence evidence = waiting_for(Figure::source);
    for (Figures* end : {&evidence.sender, &evidence.receiver})
        (*end)[Figure::elapsed] = kSecond / 4;
    CHECK(judge(evidence).cause == Cause::too_short);
    CHECK(judge(evidence).remedy == "a transfer of 4 times the bytes tells it");
    evidence.receiver[Figure::elapsed] = 3 * kSecond / 8;  // the sender's came before the end
    CHECK(judge(evidence).remedy == "a transfer of 3 times the bytes tells it");
    CHECK(judge(Evidence{}).cause == Cause::too_short);
    CHECK(judge(Evidence{}).sentence() ==
          "too short to tell what held it back: a transfer of more bytes tells it");
}

TEST_CASE("a receiver that told nothing leaves the sender's measures") {
    Evidence evidence = waiting_for(Figure::source);
    evidence.receiver = {};
    CHECK(judge(evidence).cause == Cause::source_disk);
}

TEST_CASE("the sentence names the side and the share") {
    Evidence evidence = waiting_for(Figure::source, 0.91);
    CHECK(judge(evidence).sentence().find(
              "the disk here: the sender waited for reads (91 % of the time)") !=
          std::string::npos);
    evidence.sender_here = false;
    CHECK(judge(evidence).sentence().find("the disk at the server") != std::string::npos);
    evidence.between_servers = true;
    CHECK(judge(evidence).sentence().find("the disk at the source") != std::string::npos);
    evidence = waiting_for(Figure::finish);
    evidence.between_servers = true;
    CHECK(judge(evidence).sentence().find("the disk at the destination") != std::string::npos);
    for (const auto figure : {Figure::credit, Figure::window, Figure::limit, Figure::pace}) {
        CHECK(!judge(waiting_for(figure)).remedy.empty());
    }
}

TEST_CASE("hostile figures do not break the rule") {
    Evidence evidence;
    for (Figures* end : {&evidence.sender, &evidence.receiver}) end->values().fill(UINT64_MAX);
    CHECK(judge(evidence).share <= 1.0);
    evidence.sender[Figure::elapsed] = 1;
    CHECK(!judge(evidence).why.empty());
}
