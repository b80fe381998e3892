// A disk that takes minutes over one thing: neither end takes that for a standstill, and both end
// where it never comes back.
#include "common/engine/stall.h"
#include "tests/support/catch.h"
#include "tools/sim/run.h"

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
