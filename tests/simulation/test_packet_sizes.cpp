// What a packet and a burst may be: the path, its first hop and the socket decide.
#include "common/engine/send_stripe.h"
#include "common/io/cipher/packet_cipher.h"
#include "tests/simulation/one.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

TEST_CASE("a burst that waits keeps its bytes, whatever becomes of the blocks and of its room") {
    const auto cipher = std::move(io::make_packet_cipher({.protection = 2, .secret = {}}).value());
    std::vector<std::byte> room(engine::Burst::kMaxBytes);
    engine::Burst burst(cipher->leaves_text(), room.data());
    const auto content = random_bytes(3 * 9000, seed());
    const auto digest = random_bytes(16, seed());
    std::vector<std::byte> block = content;
    constexpr std::size_t kOverhead = sabul::kHeaderBytes + 8;
    for (std::uint64_t number = 0; number < 3; ++number) {
        const bool last = number == 2;
        // The last one is too short to stay where it is.
        const ByteView text = ByteView(block).subspan(number * 9000, last ? 1000 : 9000);
        const ByteView trailer = last ? ByteView(digest) : ByteView{};
        const std::size_t wire = kOverhead + text.size() + trailer.size();
        REQUIRE(burst.takes(wire));
        sabul::encode({.number = static_cast<std::uint32_t>(number)},
                      burst.add({number, nullptr, text, trailer, false}, wire, text.size()));
    }
    burst.seal(*cipher);
    const auto joined = [&burst] {
        std::vector<std::byte> all;
        for (const ByteView part : burst.parts()) all.insert(all.end(), part.begin(), part.end());
        return all;
    };
    const auto before = joined();
    REQUIRE(burst.parts().size() == 5);
    REQUIRE(std::equal(content.begin(), content.begin() + 9000, before.begin() + 16));
    burst.keep();
    std::fill(block.begin(), block.end(), std::byte{0});
    std::fill(room.begin(), room.end(), std::byte{0});
    CHECK(burst.parts().size() == 1);
    CHECK(joined() == before);
    burst.keep();
    CHECK(joined() == before);
}

TEST_CASE("bursts wait for a socket that is full, with their bytes") {
    for (const auto protection : kProtections) {
        Options given = options();
        given.terms.protection = protection;
        given.forward.loss = 0.01;
        One one(given);
        for (auto& socket : one.run.client_sockets) socket->busy = 0.3;
        one.expect_identical();
        CHECK(one.run.client_sockets[0]->times_busy > 20);
        CHECK(one.run.receiver->outcome().leaves_again == 0);
    }
}

TEST_CASE("an interface that does not segment is found out, and nothing counts as lost") {
    Options given = options();
    given.forward.largest = given.forward.first_hop = 1472;
    One one(given);
    for (auto& socket : one.run.client_sockets) socket->segments = false;
    one.expect_identical();
    CHECK(one.run.client_sockets[0]->max_segments() == 1);
    CHECK(one.run.sender->outcome().lost_packets == 0);
}

TEST_CASE("packets grow to what the path carries, and shrink when it shrinks") {
    Options given = options();
    given.forward.first_hop = 8972;
    given.forward.largest = 8972;
    given.terms.highest_rate = BitRate{200e6};
    One one(given, 96 * kMiB);
    one.run.world.after(1500ms, [&one] { one.run.options.forward.largest = 1472; });
    one.expect_identical();
    // 1.5 s at full size, then some loss until the fall-back is noticed.
    CHECK(one.run.sender->outcome().sent_packets > 96 * kMiB / 8900);
}

TEST_CASE("a path that shrinks is noticed by packets that are shorter than the longest") {
    Options given = options();
    given.terms.stripes = 1;
    given.terms.initial_rate = given.terms.highest_rate = BitRate{50e6};
    given.terms.congestion = "fixed";  // no law that cuts packets short by a low rate
    given.forward.largest = 8972;
    std::vector<transfer::SourceName> names;
    for (int i = 0; i < 1000; ++i) {
        std::string name = "f";
        name += std::to_string(i);
        names.push_back({name, name});
    }
    Run run(seed(), given, names, {"dir", true});
    for (const auto& name : names) run.source.files[name.path] = {random_bytes(4097, 1), 5, 0644};
    run.world.after(300ms, [&run] { run.options.forward.largest = 1472; });
    const Time begin = run.world.now();
    REQUIRE(run.run());
    CHECK_FALSE(run.sender->outcome().cut);
    CHECK(run.sender->outcome().files == 1000);
    CHECK(run.world.now() - begin < 10s);
}

TEST_CASE("a first hop that shrinks is told by the kernel and costs no law a loss") {
    Options given = options();
    given.terms.stripes = 1;
    given.terms.highest_rate = BitRate{100e6};
    One one(given, 16 * kMiB);
    one.run.world.after(600ms, [&one] { one.run.options.forward.first_hop = 1472; });
    one.expect_identical();
    CHECK(one.run.sender->outcome().lost_packets == 0);
}

TEST_CASE("a first hop that is too narrow for any path ends a transfer at once, and says so") {
    Options given = options(GENERATE(session::Direction::put, session::Direction::get));
    given.forward.first_hop = 1000;
    One one(given);
    const Time began = one.run.world.now();
    one.run.world.after(1s, [&] {
        REQUIRE(one.run.sender->done());
        one.run.receiver->cut(*one.run.sender->outcome().cut);  // as the control session tells it
    });
    REQUIRE(one.run.run());
    CHECK(seconds(one.run.world.now() - began) < 2);
    CHECK(one.run.sender->outcome().cut->message.find("MTU") != std::string::npos);
    // The user may choose packets that fit.
    given.terms.payload = 900;
    One(given).expect_identical();
}

TEST_CASE("in clear a long text is left to its leaf's digest until one was wrong") {
    Options given = options();
    given.terms.protection = session::Protection::clear;
    given.forward.delay = 1ms;
    given.forward.flip = 0.02;
    One one(given, 100 * kMiB);
    one.expect_identical();
    const auto& got = one.run.receiver->outcome();
    CHECK(one.run.options.forward.counters.flipped > 20);
    CHECK(got.leaves_again >= 1);
    CHECK(got.leaves_again <= 4);  // of what was under way when the first was found
    CHECK(got.refused_packets + got.leaves_again >= one.run.options.forward.counters.flipped / 2);
    CHECK(one.run.sender->outcome().leaves_again == got.leaves_again);
}

TEST_CASE("in clear a text may be read from its block when it arrives, however late") {
    Options given = options(GENERATE(session::Direction::put, session::Direction::get));
    given.terms.protection = session::Protection::clear;
    given.forward.delay = given.backward.delay = 1ms;
    given.forward.lends = true;
    given.forward.loss = 0.01;
    given.forward.reorder = 0.02;
    given.forward.reorder_by = 100ms;
    One one(given, 200 * kMiB);
    one.expect_identical();
    CHECK(one.run.options.backward.counters.changed > 10);
    CHECK(one.run.receiver->outcome().leaves_again == 0);
    CHECK(one.run.receiver->outcome().refused_packets == 0);
}

TEST_CASE("in clear long texts go where they are expected, and others do no harm there") {
    Options given = options(GENERATE(session::Direction::put, session::Direction::get));
    given.terms.protection = session::Protection::clear;
    given.forward.delay = given.backward.delay = 1ms;
    given.forward.loss = 0.02;
    given.forward.reorder = 0.05;
    given.forward.reorder_by = GENERATE(100us, 20ms);
    given.forward.duplicate = 0.05;
    given.forward.truncate = 0.01;
    One one(given, 200 * kMiB);
    one.expect_identical();
    CHECK(one.run.options.backward.counters.apart > 1000);
    const auto& bad = one.run.options.forward.counters;
    CHECK(one.run.receiver->outcome().refused_packets == bad.truncated + bad.duplicated);
    CHECK(one.run.receiver->outcome().leaves_again == 0);
}

TEST_CASE("a path that takes short packets alone is not flooded, and is named") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Options given = options(direction);
        given.forward.largest = 1199;
        given.limit = 400s;
        One one(given);
        REQUIRE(one.run.run());
        for (auto* end : {one.run.sender, one.run.receiver}) {
            REQUIRE(end->outcome().cut);
            CHECK_THAT(end->outcome().cut->message, Catch::Contains("those with the file do not"));
        }
        CHECK(one.run.options.forward.counters.sent < 20'000);
    }
}
