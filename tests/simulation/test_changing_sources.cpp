// A source that is written to while it is sent, and keeps its size: it is gone over, and what
// changed moves again, alone.
#include "tests/support/catch.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;

namespace {

constexpr std::size_t kMiB = 1u << 20;
constexpr std::size_t kHoleFirst = 6 * kMiB, kHoleLast = 9 * kMiB;

struct Changing {
    Changing(session::Direction direction, std::uint32_t slots, double loss,
             std::uint32_t block = kMiB) {
        Options options;
        options.terms.direction = direction;
        options.terms.initial_rate = BitRate{200e6};
        options.terms.highest_rate = BitRate{1e9};
        options.terms.block = block;
        options.slots = slots;
        options.forward.loss = loss;
        options.forward.largest = 1472;
        run = std::make_unique<Run>(
            11, options, std::vector<transfer::SourceName>{{"a", "a"}, {"big", "big"}, {"c", "c"}},
            transfer::Target{"dir", true});
        run->source.files["big"] = {random_bytes(16 * kMiB + 77, 1), 5, 0644};
        auto& big = run->source.files["big"].bytes;
        std::fill(big.begin() + kHoleFirst, big.begin() + kHoleLast, std::byte{0});
        for (const char* name : {"a", "c"})
            run->source.files[name] = {random_bytes(3 * kMiB, 2), 6, 0600};
    }

    // Does `change` once, when `offset` of the file is first read.
    void when_read(std::uint64_t offset, std::function<void(MemoryFile&)> change) {
        run->source.on_read = [this, offset, change = std::move(change), done = false](
                                  const std::string& path, std::uint64_t at) mutable {
            if (done || path != "big" || at < offset) return;
            done = true;
            change(run->source.files["big"]);
        };
    }

    void expect_all_there(std::uint64_t leaves_again) {
        REQUIRE(run->run());
        for (const char* name : {"a", "big", "c"}) {
            REQUIRE(run->target.files.contains(std::string("dir/") + name));
            const MemoryFile& copy = run->target.files.at(std::string("dir/") + name);
            CHECK((copy.bytes == run->source.files.at(name).bytes));
            CHECK(copy.mtime_ns == run->source.files.at(name).mtime_ns);
        }
        CHECK(run->target.files.size() == 3);
        for (const engine::Outcome* outcome :
             {&run->sender->outcome(), &run->receiver->outcome()}) {
            CHECK_FALSE(outcome->cut);
            CHECK(outcome->failed == 0);
            CHECK(outcome->verified == 3);
            CHECK(outcome->leaves_again == leaves_again);
        }
        CHECK(run->source.open_files() == 0);
        CHECK(run->target.open_files() == 0);
    }

    void expect_failed(const std::string& why) {
        REQUIRE(run->run());
        CHECK(run->target.files.size() == 2);
        for (const engine::Outcome* outcome :
             {&run->sender->outcome(), &run->receiver->outcome()}) {
            CHECK_FALSE(outcome->cut);
            REQUIRE(outcome->failures.size() == 1);
            CHECK(outcome->failures[0].name == "big");
            CHECK(outcome->failures[0].error.message == why);
        }
        CHECK(run->source.open_files() == 0);
        CHECK(run->target.open_files() == 0);
    }

    std::unique_ptr<Run> run;
};

}  // namespace

TEST_CASE("a byte that changes behind the reader moves its leaf again, alone") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const auto loss = GENERATE(0.0, 0.02);
    const std::uint32_t slots = loss > 0 ? 16 : 64;
    const auto time_kept = GENERATE(false, true);
    INFO(to_string(direction) << ", " << slots << " slots, loss " << loss << ", time kept "
                              << time_kept);
    Changing changing(direction, slots, loss);
    changing.when_read(12 * kMiB, [&](MemoryFile& big) {
        big.bytes[2 * kMiB + 9] ^= std::byte{1};
        if (!time_kept) big.mtime_ns = 99;
        big.ctime_ns = 2;
    });
    changing.expect_all_there(1);
    CHECK(changing.run->receiver->outcome().bytes == (13 + 1 + 6) * kMiB + 77);
}

TEST_CASE("bytes that change in the last read, in a hole, and to zeros") {
    const auto mebibytes = GENERATE(1u, 4u);
    Changing changing(session::Direction::put, 32, 0.01, mebibytes << 20);
    changing.when_read(16 * kMiB, [](MemoryFile& big) {
        big.bytes[kHoleFirst + 5] = std::byte{7};                              // of a hole
        std::fill(big.bytes.begin(), big.bytes.begin() + kMiB, std::byte{0});  // to one
        big.bytes[3 * kMiB] ^= std::byte{1};
        big.mtime_ns = 7;
    });
    changing.expect_all_there(3);
}

TEST_CASE("what changes while it is gone over is gone over again") {
    Changing changing(session::Direction::get, 32, 0);
    unsigned reads = 0;
    changing.run->source.on_read = [&](const std::string& path, std::uint64_t at) {
        if (path != "big" || at != 15 * kMiB || ++reads > 2) return;
        MemoryFile& big = changing.run->source.files["big"];
        big.bytes[kMiB * reads] ^= std::byte{1};
        big.mtime_ns += 5;
    };
    changing.expect_all_there(2);
}

TEST_CASE("a source that never stands still fails its file, and no other") {
    Changing changing(session::Direction::put, 32, 0);
    changing.run->source.on_read = [&](const std::string& path, std::uint64_t) {
        if (path == "big") ++changing.run->source.files["big"].mtime_ns;
    };
    changing.expect_failed("the file changed while it was sent");
}

TEST_CASE(
    "a source that grows, or is touched where the ring is too small to look, fails its file") {
    {
        Changing grows(session::Direction::put, 32, 0);
        grows.when_read(12 * kMiB, [](MemoryFile& big) { big.bytes.push_back(std::byte{1}); });
        grows.expect_failed("the file became longer while it was sent");
    }
    Changing small(session::Direction::put, 4, 0);
    small.when_read(12 * kMiB, [](MemoryFile& big) { big.mtime_ns = 9; });
    small.expect_failed("the file changed while it was sent");
}

TEST_CASE("a disk that is slow to write what came before the change") {
    Changing changing(session::Direction::put, 64, 0);
    changing.run->target.latency = std::chrono::milliseconds(40);
    changing.when_read(15 * kMiB, [](MemoryFile& big) {
        for (std::size_t leaf = 10; leaf < 16; ++leaf) big.bytes[leaf * kMiB] ^= std::byte{1};
        big.mtime_ns = 7;
    });
    REQUIRE(changing.run->run());
    CHECK((changing.run->target.files.at("dir/big").bytes ==
           changing.run->source.files["big"].bytes));
}
