// When a transfer that does not move is given up, and what is said of it.
#include "common/engine/stall.h"

#include <utility>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::engine;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(1h);

struct Silent final : ports::FeedbackChannel {
    bool send(ByteView) override { return true; }
    ByteView receive() override { return {}; }
    bool alive() const override { return true; }
};

// Links of one stripe, whose connection stands or was never made.
struct Ends final : ports::FeedbackSource, Links::Handler {
    explicit Ends(bool stands) {
        if (stands) joined = ports::Joined{0, 1, std::make_unique<Silent>()};
        links.poll(kStart, *this);
    }
    std::optional<ports::Joined> poll() override { return std::exchange(joined, std::nullopt); }
    void dial(std::uint16_t, std::uint32_t) override {}
    void on_link(std::uint16_t, bool) override {}
    void on_link_lost(std::uint16_t) override {}
    void on_link_silent(std::uint16_t) override {}
    bool on_frame(std::uint16_t, const sabul::Frame&) override { return true; }

    std::optional<ports::Joined> joined;
    Links links{*this, 1, false};
};

}  // namespace

TEST_CASE("a transfer is given up without a connection for a minute, or progress for two") {
    struct Row {
        bool stands;
        Duration since_begin, since_progress;
        const char* silence;
        const char* said;  // empty: it goes on
        const char* standstill = "";
    };
    constexpr const char* kNoLink = "no feedback connection stood for a minute";
    constexpr const char* kNothing = "nothing moved for two minutes";
    for (const Row& row :
         {Row{false, 60s, 60s, nullptr, ""}, Row{false, 60s + 1ms, 0s, nullptr, kNoLink},
          Row{false, 200s, 200s, "silence", kNoLink},  // the cause of the other
          Row{true, 200s, 120s, nullptr, ""}, Row{true, 200s, 120s, "silence", ""},
          Row{true, 200s, 120s + 1ms, nullptr, kNothing},
          Row{true, 200s, 120s + 1ms, nullptr, "nothing moved for two minutes: why", "why"},
          Row{true, 200s, 120s + 1ms, "silence", "silence"}}) {
        INFO(row.stands << ", " << seconds(row.since_progress) << " s: " << row.said);
        const Ends ends(row.stands);
        const Time now = kStart + row.since_begin;
        const auto why =
            stalled(ends.links, now, now - row.since_progress, row.silence, row.standstill);
        REQUIRE(why.has_value() == (*row.said != '\0'));
        if (!why) continue;
        CHECK(why->message == row.said);
        CHECK(why->fault == Fault::cut);
        CHECK(why->side == Side::network);
        CHECK_FALSE(why->remedy.empty());
    }
}

TEST_CASE("a disk is waited for while any of what it was asked for ends") {
    DiskWatch watch(kStart);
    Time now = kStart + 1h;
    watch.look(now, false, 0);
    CHECK_FALSE(watch.working(now));
    CHECK_FALSE(watch.stalled(now));
    watch.look(now, true, 0);
    for (std::uint64_t ended = 1; ended < 4; ++ended) {
        now += kDiskPatience;
        CHECK(watch.working(now));
        CHECK_FALSE(watch.stalled(now));
        watch.look(now, true, ended);
    }
    now += kDiskPatience + 1ms;
    watch.look(now, true, 3);
    CHECK_FALSE(watch.working(now));
    REQUIRE(watch.stalled(now));
    CHECK(watch.stalled(now)->side == Side::local);
    CHECK(watch.stalled(now)->message ==
          "the disk did nothing of what it was asked for in 30 minutes");
}

TEST_CASE("a user is told why nothing moves from the fifth second on") {
    MotionWatch watch(kStart);
    watch.look(kStart + 1s, 7, 0);
    CHECK_FALSE(watch.stands(kStart + 6s - 1ms));
    watch.look(kStart + 2s, 7, 3);  // what left before
    CHECK_FALSE(watch.loses());
    watch.look(kStart + 6s, 7, 3);
    CHECK(watch.stands(kStart + 6s));
    CHECK_FALSE(watch.loses());
    watch.look(kStart + 6s, 7, 39);  // probes
    CHECK_FALSE(watch.loses());
    watch.look(kStart + 6s, 7, 40);
    CHECK(watch.loses());
    watch.look(kStart + 7s, 8, 40);
    CHECK_FALSE(watch.stands(kStart + 7s));
    CHECK_FALSE(watch.loses());
}
