// A disk that takes minutes over one thing: neither end takes that for a standstill, and both end
// where it never comes back.
#include "common/engine/stall.h"
#include "tests/simulation/trees.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::simulation;

namespace {

// Finds its only file after a while, and looks at one entry each second until then, or at none.
class SlowWalker final : public ports::Walker {
  public:
    SlowWalker(const World& world, Duration takes, bool gets_on)
        : world_(world), finds_at_(world.now() + takes), gets_on_(gets_on) {}
    bool ends = true;  // once it found that file

    void set_options(ports::WalkOptions) override {}
    bool add(ports::WalkRoot) override { return true; }
    void no_more() override {}
    void take(std::vector<ports::Found>& out, std::size_t) override {
        if (ended_ || world_.now() < finds_at_) return;
        ended_ = true;
        out.push_back({.path = "a", .name = "a"});
    }
    bool ended() const override { return ended_ && ends; }
    std::uint64_t looked() const override {
        return gets_on_ ? static_cast<std::uint64_t>(world_.now().time_since_epoch() /
                                                     std::chrono::seconds(1))
                        : 0;
    }

  private:
    const World& world_;
    const Time finds_at_;
    const bool gets_on_;
    bool ended_ = false;
};

// An end's disk, or what it walks through, does nothing any more: it says so, and the other one
// does not wait for it for ever.
void expect_given_up(Run& run, bool sends) {
    const Time start = run.world.now();
    REQUIRE(run.run());
    const auto& hangs = (sends ? run.sender : run.receiver)->outcome();
    const auto& other = (sends ? run.receiver : run.sender)->outcome();
    REQUIRE(hangs.cut);
    CHECK(hangs.cut->message.find("the disk did nothing") != std::string::npos);
    CHECK(hangs.cut->side == Side::local);
    CHECK(hangs.cut->fault == Fault::cut);
    CHECK(other.cut);
    const Duration taken = run.world.now() - start;
    CHECK(taken >= engine::kDiskPatience);
    CHECK(taken < engine::kDiskPatience + std::chrono::minutes(5));
}

constexpr Duration kHang = std::chrono::minutes(5);

void expect_done(Run& run) {
    REQUIRE(run.run());
    CHECK(run.world.now() > Time(std::chrono::hours(1)) + kHang);
    for (const engine::Outcome* outcome : {&run.sender->outcome(), &run.receiver->outcome()}) {
        CHECK_FALSE(outcome->cut);
        CHECK(outcome->files == 1);
    }
}

Options options_of(session::Direction direction, bool read_back = false) {
    Options options;
    options.terms.direction = direction;
    options.terms.initial_rate = BitRate{200e6};
    options.terms.read_back = read_back;
    options.limit = 2 * engine::kDiskPatience;
    return options;
}

using Call = ports::TargetEvent::Kind;

// A sync that moves nothing: of what stands at the target a mode is to be set, and a file to go.
struct Steady {
    explicit Steady(session::Direction direction,
                    const SyncRecord& plan = {.whole = true, .erase = true}) {
        Trees trees;
        trees.add("a", 3000);
        trees.add("b", 8u << 20);
        Options options = options_of(direction);
        options.adjust = [this, plan](bool, engine::Setup& setup) {
            if (!setup.is_client) return;
            setup.plan = plan;
            setup.changes = &told;
        };
        run = std::make_unique<Run>(3, std::move(options), std::vector<SourceName>{},
                                    Target{"dir", true});
        run->walker.entries = trees.walk();
        run->source.files = trees.source;
        for (const auto& [name, file] : trees.source) run->target.files["dir/" + name] = file;
        run->target.files["dir/a"].mode = 0600;
        run->target.files["dir/x"] = trees.source["a"];
        run->target.directories["dir"] = {0, 7, 0755};
    }
    void expect_done(Duration at_least) const {
        const Time start = run->world.now();
        REQUIRE(run->run());
        CHECK(run->world.now() - start >= at_least);
        CHECK_FALSE(run->sender->outcome().cut);
        CHECK_FALSE(run->receiver->outcome().cut);
        CHECK(run->sender->outcome().adopted == 2);
        CHECK(run->target.files.size() == 2);
        CHECK(run->target.files["dir/a"].mode == 0644);
        CHECK(told.sorted() == std::vector<std::string>{"attributes a", "delete x"});
    }
    Told told;
    std::unique_ptr<Run> run;
};

}  // namespace

TEST_CASE("a flush that takes minutes is waited for, at both ends") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const bool read_back = GENERATE(false, true);
    INFO(to_string(direction) << (read_back ? ", read back" : ""));
    Run run(3, options_of(direction, read_back), {{"a", "a"}}, transfer::Target{"b", false});
    run.source.files["a"] = {random_bytes(3u << 20, 1), 5, 0644};
    run.target.on_write = [&](const std::string&, std::uint64_t offset, ByteSpan) {
        if (offset == 2u << 20) run.target.stalled_until = run.world.now() + kHang;
    };
    expect_done(run);
}

TEST_CASE("a small file that takes minutes to be made is waited for, at both ends") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    INFO(to_string(direction));
    Run run(3, options_of(direction), {{"a", "a"}}, transfer::Target{"b", false});
    run.source.files["a"] = {random_bytes(3000, 1), 5, 0644};
    run.target.stalled_until = run.world.now() + kHang;
    expect_done(run);
}

TEST_CASE("a source's disk that takes minutes is waited for, at both ends") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const std::size_t bytes = GENERATE(3000, 3u << 20);
    INFO(to_string(direction) << ", " << bytes << " bytes");
    Run run(3, options_of(direction), {{"a", "a"}}, transfer::Target{"b", false});
    run.source.files["a"] = {random_bytes(bytes, 1), 5, 0644};
    if (bytes < (1u << 20)) {
        run.source.stalled_until = run.world.now() + kHang;
    } else {
        run.source.on_read = [&](const std::string&, std::uint64_t offset) {
            if (offset == 2u << 20) run.source.stalled_until = run.world.now() + kHang;
        };
    }
    expect_done(run);
}

TEST_CASE("a walk that finds nothing for long is waited for while it gets on") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const bool gets_on = GENERATE(true, false);
    INFO(to_string(direction) << (gets_on ? ", gets on" : ", hangs"));
    const Duration takes = engine::kDiskPatience + kHang;
    std::unique_ptr<SlowWalker> walker;
    Run* world_of = nullptr;
    Options options = options_of(direction);
    options.adjust = [&](bool sends, engine::Setup& setup) {
        if (!sends) return;
        walker = std::make_unique<SlowWalker>(world_of->world, takes, gets_on);
        setup.walker = walker.get();
    };
    Run run(3, std::move(options), {{"a", "a"}}, transfer::Target{"b", false});
    world_of = &run;
    run.source.files["a"] = {random_bytes(3000, 1), 5, 0644};
    if (gets_on) return expect_done(run);
    expect_given_up(run, true);
}

TEST_CASE("a disk that does nothing any more is given up, at either end") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const bool sends = GENERATE(true, false);
    INFO(to_string(direction) << (sends ? ", the source's" : ", the target's"));
    Run run(3, options_of(direction), {{"a", "a"}}, transfer::Target{"b", false});
    run.source.files["a"] = {random_bytes(3u << 20, 1), 5, 0644};
    (sends ? run.source : run.target).stalled_until = run.world.now() + std::chrono::hours(10);
    expect_given_up(run, sends);
}

TEST_CASE("a walk that goes on does not hide that the network carries nothing") {
    std::unique_ptr<SlowWalker> walker;
    Run* world_of = nullptr;
    Options options = options_of(session::Direction::put);
    options.forward.loss = 1;
    options.adjust = [&](bool sends, engine::Setup& setup) {
        if (!sends) return;
        walker = std::make_unique<SlowWalker>(world_of->world, Duration{0}, true);
        walker->ends = false;
        setup.walker = walker.get();
    };
    Run run(3, std::move(options), {{"a", "a"}}, transfer::Target{"b", false});
    world_of = &run;
    run.source.files["a"] = {random_bytes(3u << 20, 1), 5, 0644};
    const Time start = run.world.now();
    REQUIRE(run.run());
    CHECK(run.sender->outcome().cut);
    CHECK(run.receiver->outcome().cut);
    CHECK(run.world.now() - start < std::chrono::minutes(5));
}

TEST_CASE("a target that takes minutes to be looked at, mended or cleared is waited for") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const auto call = GENERATE(Call::looked, Call::mended, Call::extraneous);
    INFO(to_string(direction) << ", call " << static_cast<int>(call));
    const Steady steady(direction);
    steady.run->tree.latencies[call] = kHang;
    steady.expect_done(kHang);
}

TEST_CASE("a target that answers no look, no mend or no deletion is given up") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const auto call = GENERATE(Call::looked, Call::mended, Call::extraneous);
    INFO(to_string(direction) << ", call " << static_cast<int>(call));
    const Steady steady(direction);
    steady.run->tree.latencies[call] = std::chrono::hours(10);
    expect_given_up(*steady.run, false);
}

TEST_CASE("a target of which it takes minutes to say whether it holds anything is waited for") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const bool hangs = GENERATE(false, true);
    INFO(to_string(direction) << (hangs ? ", hangs" : ""));
    const Steady steady(direction, {});  // a put or get, which asks for that first
    steady.run->tree.latencies[Call::begun] = hangs ? std::chrono::hours(10) : kHang;
    if (hangs) return expect_given_up(*steady.run, false);
    REQUIRE(steady.run->run());
    CHECK_FALSE(steady.run->sender->outcome().cut);
    CHECK_FALSE(steady.run->receiver->outcome().cut);
    CHECK(steady.run->sender->outcome().adopted == 2);
}

TEST_CASE("one look that takes longer than a dead disk is given is waited for while it gets on") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    INFO(to_string(direction));
    const Steady steady(direction);
    steady.run->tree.latencies[Call::looked] = engine::kDiskPatience + kHang;
    steady.run->tree.gets_on = true;
    steady.expect_done(engine::kDiskPatience + kHang);
}

TEST_CASE("a file that is read to be compared is waited for while it is read") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const bool sends = GENERATE(true, false);
    const bool gets_on = GENERATE(true, false);
    INFO(to_string(direction) << (sends ? ", at the source" : ", at the target")
                              << (gets_on ? ", gets on" : ", hangs"));
    const Steady steady(direction, {.whole = true, .erase = true, .checksum = true});
    MemoryReader& reader = sends ? steady.run->source_reader : steady.run->target_reader;
    reader.piece_latency = gets_on ? kHang : std::chrono::hours(10);
    if (gets_on) return steady.expect_done(engine::kDiskPatience + kHang);
    expect_given_up(*steady.run, sends);
}

TEST_CASE("a sync waits for who reads what it tells, for as long as that takes") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const std::size_t room = GENERATE(0, 1);
    const Duration takes = engine::kDiskPatience + kHang;
    INFO(to_string(direction) << ", room for " << room);
    Steady steady(direction);
    steady.told.room = room;
    steady.run->world.after(takes, [&] { steady.told.room = SIZE_MAX; });
    std::string standstill;
    steady.run->world.after(takes / 2, [&] {
        const bool put = direction == session::Direction::put;
        standstill = (put ? steady.run->sender : steady.run->receiver)->progress().standstill;
    });
    steady.expect_done(takes);
    CHECK(standstill == engine::kUnread);
}

TEST_CASE("nor does it tell of deletions that nobody reads of") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    INFO(to_string(direction));
    constexpr std::size_t kFiles = 2000;
    Steady steady(direction);
    for (std::size_t file = 0; file < kFiles; ++file)
        steady.run->target.files["dir/x" + std::to_string(file)] =
            steady.run->target.files["dir/x"];
    steady.told.room = 10;
    std::size_t held = 0;
    steady.run->world.after(engine::kDiskPatience, [&] { held = steady.told.lines.size(); });
    steady.run->world.after(engine::kDiskPatience + kHang, [&] { steady.told.room = SIZE_MAX; });
    REQUIRE(steady.run->run());
    CHECK_FALSE(steady.run->sender->outcome().cut);
    CHECK_FALSE(steady.run->receiver->outcome().cut);
    CHECK(held >= 10);
    CHECK(held <= 10 + ports::TargetTree::kMostListed);
    CHECK(steady.told.lines.size() == kFiles + 2);
}
