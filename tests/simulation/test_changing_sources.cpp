// A source that is written to while it is sent, and keeps its size: it is gone over, and what
// changed moves again, alone.
#include "common/transfer/sink.h"
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

// Gives one entry, and the others once it is let.
struct Withholding final : ports::Walker {
    ListWalker all;
    bool one_given = false, let = false;

    void set_options(ports::WalkOptions) override {}
    bool add(ports::WalkRoot root) override { return all.add(std::move(root)); }
    void no_more() override { all.no_more(); }
    void take(std::vector<ports::Found>& out, std::size_t most) override {
        if (!let && one_given) return;
        all.take(out, let ? most : 1);
        one_given = one_given || !out.empty();
    }
    std::uint64_t looked() const override { return 0; }
    bool ended() const override { return let && all.ended(); }
};

// Hears what passes one end.
struct Hearing final : transfer::RecordWatch {
    std::function<void(const transfer::Record&)> hear;
    void passes(const transfer::Record& record) override {
        if (hear) hear(record);
    }
};

template <class Record>
bool is(const transfer::Record& record) {
    return std::holds_alternative<Record>(record);
}

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

TEST_CASE("a file whose last block nothing described yet is compared all the same") {
    // The next file is found when the sender says CHANGED, when the receiver hears it, or when that
    // hears of the leaf.
    const auto when = GENERATE(0, 1, 2);
    INFO(when);
    Options options;
    options.terms.initial_rate = options.terms.highest_rate = BitRate{200e6};
    Withholding walker;
    Hearing sender, receiver;
    sender.hear = [&](const transfer::Record& record) {
        walker.let = walker.let || (when == 0 && is<transfer::ChangedRecord>(record));
    };
    receiver.hear = [&](const transfer::Record& record) {
        walker.let = walker.let || (when == 1 && is<transfer::ChangedRecord>(record)) ||
                     (when == 2 && is<transfer::LeafRecord>(record));
    };
    options.adjust = [&](bool sends, engine::Setup& setup) {
        setup.records = sends ? &sender : &receiver;
        if (sends) setup.walker = &walker;
    };
    Run run(12, options, {{"hot", "hot"}, {"next", "next"}}, {"dir", true});
    run.source.files["hot"] = {random_bytes(700'000, 1), 5, 0644};
    run.source.files["next"] = {random_bytes(1000, 2), 6, 0644};
    run.source.on_read = [&](const std::string& path, std::uint64_t at) {
        MemoryFile& hot = run.source.files["hot"];
        if (path != "hot" || at == 0 || hot.ctime_ns > 1) return;
        hot.bytes[9] ^= std::byte{1};
        hot.ctime_ns = 2;
    };
    REQUIRE(run.run());
    for (const char* name : {"hot", "next"}) {
        CHECK((run.target.files[std::string("dir/") + name].bytes == run.source.files[name].bytes));
    }
    for (const engine::Outcome* outcome : {&run.sender->outcome(), &run.receiver->outcome()}) {
        CHECK_FALSE(outcome->cut);
        CHECK(outcome->failed == 0);
        CHECK(outcome->verified == 2);
        CHECK(outcome->leaves_again == 1);
    }
}

TEST_CASE("a leaf that came between CHANGED and its LEAF is not compared") {
    World world(1);
    Alarm alarm(world, [] {});
    MemoryDisk disk(world, alarm, 32, kMiB);
    unsigned compared = 0;
    Hearing hearing;
    hearing.hear = [&](const transfer::Record& record) {
        compared += is<transfer::ComparedRecord>(record) ? 1 : 0;
    };
    transfer::StreamSender stream;
    stream.watch(&hearing);
    transfer::Sink sink(disk, stream, {"to", true}, kMiB,
                        {[](transfer::Sink::Failure) {}, [](const transfer::SkipRecord&) {}});
    const auto content = random_bytes(kMiB, 1);
    transfer::Digest right = transfer::leaf_digest(content), wrong = right;
    wrong[0] ^= std::byte{1};
    transfer::FileRecord file;
    file.name = "f";
    file.size = kMiB;
    file.data = {{0, kMiB}};
    REQUIRE(sink.handle(file));
    sink.accept(0, content, &wrong);
    REQUIRE(sink.totals().leaves_again == 1);
    REQUIRE(sink.handle(transfer::ChangedRecord{0}));
    sink.accept(0, content, &right);
    CHECK(sink.handle(transfer::LeafRecord{0, 0, right}));
    CHECK(compared == 1);
}

TEST_CASE("a file that was granted and is written to is no more than was granted") {
    Changing changing(session::Direction::put, 32, 0);
    std::uint64_t granted = kHoleFirst - kHoleLast;  // it does not count
    for (const auto& [name, file] : changing.run->source.files) granted += file.bytes.size();
    changing.run->options.adjust = [&](bool sends, engine::Setup& setup) {
        if (!sends) setup.most_bytes = granted;
    };
    changing.when_read(12 * kMiB, [](MemoryFile& big) {
        big.bytes[2 * kMiB + 9] ^= std::byte{1};
        big.ctime_ns = 2;
    });
    changing.expect_all_there(1);
    // But a byte more is.
    Changing more(session::Direction::put, 32, 0);
    more.run->options.adjust = [&](bool sends, engine::Setup& setup) {
        if (!sends) setup.most_bytes = granted - 1;
    };
    REQUIRE(more.run->run());
    CHECK(more.run->receiver->outcome().cut);
}
