// A disk that gives back something else than was written: found before the file gets its name, and
// the bad leaf alone moves again (--verify readback).
#include "tests/simulation/receiver.h"

using namespace lambda;
using namespace lambda::simulation;

namespace {

constexpr std::size_t kMiB = 1u << 20;

struct Lying {
    // `lies`: of a file under its final name, at an offset: how many writes there go wrong.
    Lying(session::Direction direction,
          std::map<std::pair<std::string, std::uint64_t>, unsigned> lies, std::uint32_t slots,
          bool read_back = true, std::uint32_t block = kMiB)
        : left(std::move(lies)) {
        Options options;
        options.terms.direction = direction;
        options.terms.initial_rate = BitRate{200e6};
        options.terms.highest_rate = BitRate{1e9};
        options.terms.read_back = read_back;
        options.terms.block = block;
        options.slots = slots;
        run = std::make_unique<Run>(7, options,
                                    std::vector<transfer::SourceName>{
                                        {"big", "big"}, {"mid", "mid"}, {"a", "a"}, {"b", "b"}},
                                    transfer::Target{"dir", true});
        run->source.files["big"] = {random_bytes(12 * kMiB + 77, 1), 5, 0644};
        run->source.files["mid"] = {random_bytes(100'000, 3), 5, 0644};
        for (const char* name : {"a", "b"})
            run->source.files[name] = {random_bytes(10'000, 2), 6, 0600};
        run->target.on_write = [this](const std::string& path, std::uint64_t offset,
                                      ByteSpan bytes) {
            for (auto& [where, times] : left) {
                const bool here = where.first == path && where.second >= offset &&
                                  where.second < offset + bytes.size();
                if (!here || times == 0) continue;
                bytes[where.second - offset] ^= std::byte{1};
                --times;
                ++told;
            }
        };
    }
    bool identical(const std::string& name) const {
        return run->target.files.contains("dir/" + name) &&
               run->target.files.at("dir/" + name).bytes == run->source.files.at(name).bytes;
    }
    std::map<std::pair<std::string, std::uint64_t>, unsigned> left;
    unsigned told = 0;
    std::unique_ptr<Run> run;
};

}  // namespace

TEST_CASE("what a disk gives back wrong moves again, alone") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const auto slots = GENERATE(2u, 4u, 32u);
    INFO(to_string(direction) << ", " << slots << " slots");
    Lying lying(direction,
                {{{"dir/big", 100}, 1},
                 {{"dir/big", 5 * kMiB + 1}, 3},
                 {{"dir/big", 12 * kMiB + 5}, 1},
                 {{"dir/mid", 99'999}, 2},
                 {{"dir/a", 9'999}, 3}},
                slots);
    REQUIRE(lying.run->run());
    CHECK(lying.told == 10);
    for (const char* name : {"big", "mid", "a", "b"}) CHECK(lying.identical(name));
    const engine::Outcome& received = lying.run->receiver->outcome();
    for (const engine::Outcome* outcome : {&lying.run->sender->outcome(), &received}) {
        CHECK_FALSE(outcome->cut);
        CHECK(outcome->verified == 4);
        CHECK(outcome->failed == 0);
        CHECK(outcome->leaves_again == 7);  // the small file was written again from memory
    }
    CHECK(received.bytes == 12 * kMiB + 77 + 120'000 + 4 * kMiB + 77 + 200'000);
    CHECK(lying.run->source.open_files() == 0);
    CHECK(lying.run->target.open_files() == 0);
}

TEST_CASE("of a block with several leaves only what reads back wrong moves again") {
    Lying lying(session::Direction::put,
                {{{"dir/big", kMiB + 9}, 1}, {{"dir/big", 2 * kMiB + 9}, 2}}, 8, true, 4 * kMiB);
    REQUIRE(lying.run->run());
    CHECK(lying.identical("big"));
    CHECK(lying.run->receiver->outcome().bytes == 12 * kMiB + 77 + 120'000 + 3 * kMiB);
}

TEST_CASE("without a reading back such a disk is believed") {
    Lying lying(session::Direction::put, {{{"dir/big", 100}, 1}, {{"dir/a", 5}, 1}}, 4, false);
    REQUIRE(lying.run->run());
    CHECK_FALSE(lying.identical("big"));
    CHECK_FALSE(lying.identical("a"));
}

TEST_CASE("a disk that lies each time fails the file, and no other") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    Lying lying(direction, {{{"dir/big", 5 * kMiB + 1}, 1000}, {{"dir/a", 1}, 1000}}, 4);
    REQUIRE(lying.run->run());
    CHECK(lying.told == 8);
    CHECK(lying.identical("mid"));
    CHECK(lying.identical("b"));
    for (const char* name : {"dir/big", "dir/big.part", "dir/big.journal", "dir/a"})
        CHECK_FALSE(lying.run->target.files.contains(name));
    for (const engine::Outcome* outcome :
         {&lying.run->sender->outcome(), &lying.run->receiver->outcome()}) {
        CHECK_FALSE(outcome->cut);
        REQUIRE(outcome->failures.size() == 2);
        for (const auto& failure : outcome->failures)
            CHECK(failure.error.fault == Fault::integrity);
    }
    CHECK(lying.run->source.open_files() == 0);
    CHECK(lying.run->target.open_files() == 0);
}

TEST_CASE("what was written is read back while more comes, also to a disk that is always behind") {
    using transfer::kLeafBytes;
    transfer::testing::Receiver receiver(64);
    constexpr std::uint64_t kBlock = transfer::testing::Receiver::kBlock, kBlocks = 400;
    receiver.sink.set_read_back();
    unsigned read = 0;
    receiver.disk.on_read = [&](const std::string&, std::uint64_t) { ++read; };
    const auto block = random_bytes(kBlock, 1);
    const transfer::Digest leaves[] = {transfer::leaf_digest(ByteView(block).first(kLeafBytes)),
                                       transfer::leaf_digest(ByteView(block).subspan(kLeafBytes))};
    REQUIRE(receiver.takes(0, kBlocks * kBlock));
    receiver.turn();
    for (std::uint64_t next = 0; next < kBlocks; receiver.turn()) {
        // The network is faster: it fills each slot as soon as there is credit.
        for (; next < std::min(receiver.sink.credit(), kBlocks); ++next) {
            for (std::uint64_t at = 0; at < kBlock; at += kLeafBytes)
                receiver.sink.accept(next * kBlock + at, ByteView(block).subspan(at, kLeafBytes),
                                     &leaves[at / kLeafBytes]);
        }
        receiver.world.step(receiver.world.now() + std::chrono::seconds(1));
    }
    CHECK(read > 0);
}
