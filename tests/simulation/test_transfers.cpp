// Whole transfers between the two production ends, in virtual time, over paths of every kind.
#include "tests/simulation/one.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

TEST_CASE("a file crosses a clean path, put and get, over 1, 4 and 16 stripes") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        for (const std::uint16_t stripes :
             {std::uint16_t{1}, std::uint16_t{4}, std::uint16_t{16}}) {
            Options given = options(direction);
            given.terms.stripes = stripes;
            // A stripe takes whole blocks: the shares are even over many of them.
            const std::size_t bytes = 8 * kMiB * stripes;
            One one(given, bytes);
            one.expect_identical();
            CHECK(one.run.sender->outcome().lost_packets == 0);
            for (const auto& stripe : one.run.sender->outcome().stripes) {
                CHECK(stripe.bytes * stripes * 2 >= bytes);
            }
        }
    }
}

TEST_CASE("a file crosses loss, repeats, reordering and truncation, in each protection") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        for (const auto protection : kProtections) {
            Options given = options(direction);
            given.terms.protection = protection;
            given.forward.loss = 0.01;
            given.forward.duplicate = 0.01;
            given.forward.reorder = 0.05;
            given.forward.truncate = 0.001;
            given.backward.loss = 0.01;
            given.forward.largest = 1472;
            One one(given);
            one.expect_identical();
            CHECK(one.run.options.forward.counters.lost > 0);
            CHECK(one.run.sender->outcome().retransmitted_packets > 0);
        }
    }
}

TEST_CASE("what comes late is counted as lost at neither end") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Options given = options(direction);
        given.forward.reorder = 0.02;
        given.forward.reorder_by = 20ms;
        given.terms.payload = 1440;  // no probe is lost
        One one(given);
        one.expect_identical();
        // All of it came in the end; of the last round trip it is not told.
        const std::uint64_t told = one.run.sender->progress().lost_packets;
        CHECK(told > 50);
        CHECK(one.run.sender->outcome().lost_packets < told / 4);
        CHECK(one.run.receiver->outcome().lost_packets < told / 4);
    }
}

TEST_CASE("a flipped bit is never accepted and always counted") {
    for (const auto protection : kProtections) {
        Options given = options();
        given.terms.protection = protection;
        given.forward.flip = 0.02;
        given.forward.duplicate = 0.02;
        given.forward.largest = 1472;
        One one(given);
        one.expect_identical();
        const auto flipped = one.run.options.forward.counters.flipped;
        CHECK(flipped > 50);
        CHECK(one.run.receiver->outcome().refused_packets > 0);
    }
}

TEST_CASE("heavy loss both ways ends identical") {
    Options given = options();
    given.forward.loss = 0.2;
    given.backward.loss = 0.2;
    given.forward.largest = 1472;
    One one(given, 2 * kMiB);
    one.expect_identical();
}

TEST_CASE("feedback connections that are cut are dialled again, and the file is identical") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Options given = options(direction);
        given.terms.highest_rate = BitRate{100e6};
        given.forward.loss = 0.002;
        One one(given, 16 * kMiB);
        for (int i = 1; i <= 12; ++i) {
            one.run.world.after(i * 100ms, [&one, i] {
                if (i % 2 == 0) {
                    one.run.feedback.cut(static_cast<std::uint16_t>(i % 4));
                } else {
                    one.run.feedback.stall(static_cast<std::uint16_t>(i % 4));
                }
            });
        }
        one.run.world.after(1350ms, [&one] {
            for (std::uint16_t i = 0; i < 4; ++i) one.run.feedback.cut(i);
        });
        one.expect_identical();
        CHECK(one.run.feedback.dials() > 8);
    }
}

TEST_CASE("a new feedback connection stands within two seconds of a stall") {
    Options given = options();
    given.terms.stripes = 1;
    given.terms.highest_rate = BitRate{20e6};
    One one(given, 16 * kMiB);
    unsigned dials_before = 0, dials_after = 0;
    one.run.world.after(1s, [&] {
        dials_before = one.run.feedback.dials();
        one.run.feedback.stall(0);
    });
    one.run.world.after(2900ms, [&] { dials_after = one.run.feedback.dials(); });
    one.expect_identical();
    CHECK(dials_before == 1);
    CHECK(dials_after == 2);
}

TEST_CASE("numbers wrap at 2^32, and keys are renewed across it") {
    Options given = options();
    given.first_number = (1ull << 32) - 1500;
    given.terms.stripes = 2;
    given.forward.loss = 0.01;
    given.forward.reorder = 0.05;
    given.forward.largest = 1472;
    One one(given);
    one.expect_identical();
    CHECK(one.run.key_ages.contains((1ull << 32) / (1u << 22)));
    CHECK(one.run.key_ages.contains((1ull << 32) / (1u << 22) - 1));
}

TEST_CASE("a sender whose connections end with the last file still hears of the end") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Options given = options(direction);
        given.feedback_delay = 50ms;
        One one(given, 1000);
        // SET_DONE is on its way when every connection goes.
        std::function<void()> watch = [&] {
            if (!one.run.target.files.contains("out.bin")) return one.run.world.after(1ms, watch);
            one.run.world.after(2ms, [&] {
                for (std::uint16_t i = 0; i < 4; ++i) one.run.feedback.stall(i);
                for (std::uint16_t i = 0; i < 4; ++i) one.run.feedback.cut(i);
            });
        };
        one.run.world.after(1ms, watch);
        const Time begin = one.run.world.now();
        one.expect_identical();
        CHECK(one.run.world.now() - begin < 5s);
    }
}

TEST_CASE("a receiver that takes its leave by itself does not wait to be heard") {
    Options given = options(session::Direction::get);
    given.feedback_delay = 50ms;
    given.adjust = [](bool sends, engine::Setup& setup) { setup.says_goodbye = !sends; };
    One one(given, 1000);
    Time there = kNever;
    std::function<void()> watch = [&] {
        if (there == kNever && one.run.target.files.contains("out.bin"))
            there = one.run.world.now();
        if (one.run.receiver->done()) {
            CHECK(one.run.world.now() - there < 50ms);
            return;
        }
        one.run.world.after(1ms, watch);
    };
    one.run.world.after(1ms, watch);
    one.expect_identical();
    CHECK(there != kNever);
}

TEST_CASE("a receiver that the control session tells of the end needs no connection for it") {
    Options given = options(session::Direction::get);
    given.feedback_delay = 50ms;
    One one(given, 1000);
    Time there = kNever;
    std::function<void()> watch = [&] {
        if (!one.run.target.files.contains("out.bin")) return one.run.world.after(1ms, watch);
        there = one.run.world.now();
        // SET_DONE is on its way when every connection goes, for good.
        one.run.world.after(2ms, [&] {
            one.run.feedback.refuse = true;
            for (std::uint16_t i = 0; i < 4; ++i) one.run.feedback.stall(i);
            for (std::uint16_t i = 0; i < 4; ++i) one.run.feedback.cut(i);
        });
        one.run.world.after(5s, [&] {
            CHECK_FALSE(one.run.receiver->done());
            one.run.receiver->peer_ended();
        });
        one.run.world.after(7s, [&] { CHECK(one.run.receiver->done()); });
    };
    one.run.world.after(1ms, watch);
    one.run.run();
    CHECK(there != kNever);
    CHECK_FALSE(one.run.receiver->outcome().cut);
}

TEST_CASE("few server ports serve all stripes") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        for (const unsigned ports : {1u, 3u}) {
            Options given = options(direction);
            given.server_ports = ports;
            One one(given);
            one.expect_identical();
        }
    }
}

TEST_CASE("a client behind another address is challenged before data flows to it") {
    Options given = options(session::Direction::get);
    given.behind_nat = true;
    given.terms.stripes = 2;
    One one(given);
    one.expect_identical();
}

TEST_CASE("no datagram beyond three times its own bytes goes to an unproved address") {
    Options given = options(session::Direction::get);
    given.behind_nat = true;
    given.terms.stripes = 1;
    // The client hears nothing, so it can never answer.
    given.forward.dead = true;
    given.limit = 20s;
    One one(given);
    std::map<Address, std::uint64_t> sent_to;
    one.run.server_sockets[0]->sent_to = &sent_to;
    REQUIRE_FALSE(one.run.run());
    std::uint64_t total = 0;
    for (const auto& [to, bytes] : sent_to) total += bytes;
    CHECK(total > 0);
    CHECK(total <= 3 * one.run.options.backward.counters.sent * 32);
}

TEST_CASE("replayed and forged datagrams change nothing") {
    Options given = options();
    given.forward.largest = 1472;
    given.terms.highest_rate = BitRate{50e6};
    One one(given, 4 * kMiB);
    std::vector<std::vector<std::byte>> tap;
    for (const auto& socket : one.run.client_sockets) socket->tap = &tap;
    Address stranger;
    stranger.ip[15] = std::byte{66};
    stranger.port = 666;
    std::uint64_t injected = 0;
    std::function<void()> attack = [&] {
        for (int i = 0; i < 20 && !tap.empty(); ++i) {
            std::vector<std::byte> one_packet = tap[one.run.world.below(tap.size())];
            if (i % 2 == 0) one_packet[one.run.world.below(one_packet.size())] ^= std::byte{4};
            // A forged number of the right window, on the right place: the hardest to refuse.
            if (i % 4 == 0) one_packet[7] ^= static_cast<std::byte>(one.run.world.below(256));
            one.run.server_sockets[one.run.world.below(4)]->inject(one_packet, stranger,
                                                                   one.run.world.now());
            ++injected;
        }
        one.run.world.after(2ms, attack);
    };
    one.run.world.after(20ms, attack);
    one.expect_identical();
    CHECK(injected > 1000);
    CHECK(one.run.receiver->outcome().refused_packets > injected / 2);
    CHECK(one.run.receiver->outcome().bytes == 4 * kMiB);
}

TEST_CASE("many files of all sizes arrive, small ones packed") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Options given = options(direction);
        given.forward.loss = 0.01;
        const std::size_t sizes[] = {0,        1,     1439,    1440,      1441,      4095,     4096,
                                     4097,     65535, 65536,   kMiB - 1,  kMiB,      kMiB + 1, 0,
                                     3 * kMiB, 17,    100'000, 2'097'152, 2'097'153, 5};
        std::vector<transfer::SourceName> names;
        std::map<std::string, MemoryFile> files;
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            std::string name = "f";
            name += std::to_string(i);
            names.push_back({name, name});
            files[name] = {random_bytes(sizes[i], i), static_cast<std::int64_t>(i), 0600};
        }
        Run run(seed(), given, names, {"dir", true});
        run.source.files = files;
        REQUIRE(run.run());
        CHECK(run.sender->outcome().files == std::size(sizes));
        for (const auto& [name, file] : files) {
            INFO(name << " of " << file.bytes.size());
            REQUIRE(run.target.files.contains("dir/" + name));
            REQUIRE((run.target.files["dir/" + name].bytes == file.bytes));
        }
    }
}

TEST_CASE("holes cost no packets") {
    Options given = options();
    One one(given, 64 * kMiB);
    auto& bytes = one.run.source.files["data.bin"].bytes;
    std::fill(bytes.begin() + 3 * kMiB, bytes.begin() + 60 * kMiB, std::byte{0});
    one.expect_identical();
    CHECK(one.run.sender->outcome().bytes == 7 * kMiB);
}

TEST_CASE("a file that fails takes no other with it") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    Options given = options(direction);
    std::vector<transfer::SourceName> names;
    for (const char* name : {"a", "missing", "unreadable", "shrinks", "changes", "uncreatable",
                             "full", "uncommitted", "z"}) {
        names.push_back({name, name});
    }
    Run run(seed(), given, names, {"dir", true});
    for (const auto& name : names)
        run.source.files[name.path] = {random_bytes(5 * kMiB, 1), 5, 0644};
    run.source.files.erase("missing");
    run.source.fail_read.insert("unreadable");
    run.source.on_read = [&](const std::string& path, std::uint64_t offset) {
        if (path == "shrinks" && offset >= 2 * kMiB)
            run.source.files[path].bytes.resize(2 * kMiB + 5);
        if (path == "changes" && offset >= 2 * kMiB) ++run.source.files[path].mtime_ns;
    };
    run.target.fail_create.insert("dir/uncreatable");
    run.target.fail_write.insert("dir/full");
    run.target.fail_commit.insert("dir/uncommitted");
    REQUIRE(run.run());
    for (const engine::Outcome* outcome : {&run.sender->outcome(), &run.receiver->outcome()}) {
        CHECK(outcome->files == 2);
        CHECK(outcome->failed == 7);
        CHECK_FALSE(outcome->cut);
    }
    // Nothing half-done is left under any name.
    CHECK(run.target.files.size() == 2);
    CHECK((run.target.files["dir/a"].bytes == run.source.files["a"].bytes));
    CHECK((run.target.files["dir/z"].bytes == run.source.files["z"].bytes));
}

TEST_CASE("a small ring and small sockets are enough") {
    Options given = options();
    given.slots = 2;
    given.buffer_bytes = 100 * 1024;
    given.forward.loss = 0.005;
    One one(given);
    one.expect_identical();
}

TEST_CASE("a dead path comes back, and the transfer goes on") {
    Options given = options();
    given.terms.highest_rate = BitRate{50e6};
    One one(given, 16 * kMiB);
    one.run.world.after(500ms, [&one] { one.run.options.forward.dead = true; });
    one.run.world.after(20500ms, [&one] { one.run.options.forward.dead = false; });
    const Time begin = one.run.world.now();
    one.expect_identical();
    CHECK(one.run.world.now() - begin < 27s);
}

TEST_CASE("papers' law and fixed rate carry a file too") {
    for (const char* law : {"sabul2003", "fixed"}) {
        Options given = options();
        given.terms.congestion = law;
        given.terms.highest_rate = BitRate{300e6};
        given.forward.loss = 0.001;
        given.forward.largest = 1472;
        One one(given);
        one.expect_identical();
    }
}

TEST_CASE("no link ever: the transfer ends with the reason") {
    Options given = options();
    One one(given);
    one.run.feedback.refuse = true;
    REQUIRE(one.run.run());
    REQUIRE(one.run.sender->outcome().cut);
    CHECK(one.run.sender->outcome().cut->fault == Fault::cut);
}

TEST_CASE("a sender without credit hears at once of room that a slow disk made") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Options given = options(direction);
        given.slots = 8;
        One one(given, 32 * kMiB);
        one.run.target.latency = 50ms;  // a ring of blocks at a time: 200 ms for all, and the way
        const Time begin = one.run.world.now();
        one.expect_identical();
        CHECK(seconds(one.run.world.now() - begin) < 0.75);
    }
}
