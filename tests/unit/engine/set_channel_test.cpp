// The set stream over connections that die.
#include "common/engine/set_channel.h"

#include <array>
#include <string>
#include <utility>
#include <variant>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::engine;

namespace {

constexpr Time kStart = Time(std::chrono::hours(1));

// A connection that takes what it is given, until it is dead.
struct Wire {
    std::vector<std::byte> taken;
    bool alive = true;
    std::vector<std::byte> says{};  // with the next poll
    bool endless = false;           // says it again and again
};

class WireEnd final : public ports::FeedbackChannel {
  public:
    explicit WireEnd(Wire& wire) : wire_(wire) {}
    bool send(ByteView frame) override {
        wire_.taken.insert(wire_.taken.end(), frame.begin(), frame.end());
        return true;
    }
    ByteView receive() override {
        said_ = wire_.endless ? wire_.says : std::exchange(wire_.says, {});
        return said_;
    }
    bool alive() const override { return wire_.alive; }

  private:
    Wire& wire_;
    std::vector<std::byte> said_;
};

// One end of a set stream, whose links are replaced by the test.
class End final : public ports::FeedbackSource, private Links::Handler {
  public:
    explicit End(std::uint16_t stripes = 1) : links_(*this, stripes, false) {}

    void connect(Wire& wire, std::uint16_t stripe = 0) {
        joined_ = ports::Joined{stripe, ++epoch_, std::make_unique<WireEnd>(wire)};
        links_.poll(kStart, *this);
    }
    void take(const Wire& wire) {
        sabul::Framer framer;
        framer.put(wire.taken);
        while (const auto frame = framer.next()) REQUIRE(set.handle_frame(*frame));
    }
    void take(const sabul::StreamPiece& piece) {
        std::vector<std::byte> bytes;
        sabul::append_stream(bytes, piece.offset, piece.bytes);
        sabul::Framer framer;
        framer.put(bytes);
        REQUIRE(set.handle_frame(*framer.next()));
        while (set.next()) {
        }
    }
    void pump() { set.pump(links_, true); }
    void poll(Duration later) { links_.poll(kStart + later, *this); }
    Time next_time() const { return links_.next_time(); }

    SetChannel set;

  private:
    std::optional<ports::Joined> poll() override { return std::exchange(joined_, std::nullopt); }
    void dial(std::uint16_t, std::uint32_t) override {}
    void on_link(std::uint16_t, bool) override { set.on_links_changed(); }
    void on_link_lost(std::uint16_t) override { set.on_links_changed(); }
    void on_link_silent(std::uint16_t) override { set.on_links_changed(); }
    bool on_frame(std::uint16_t, const sabul::Frame&) override { return true; }

    std::optional<ports::Joined> joined_;
    std::uint32_t epoch_ = 0;
    Links links_;
};

std::vector<std::uint64_t> acks_in(const Wire& wire) {
    std::vector<std::uint64_t> told;
    sabul::Framer framer;
    framer.put(wire.taken);
    while (const auto frame = framer.next()) {
        REQUIRE(frame->type == static_cast<std::uint8_t>(sabul::FrameType::stream_ack));
        told.push_back(sabul::parse_stream_ack(frame->body).value());
    }
    return told;
}

}  // namespace

TEST_CASE("what was consumed is told once more where its connection died") {
    End end;
    Wire first, second;
    end.connect(first);
    end.pump();
    CHECK(acks_in(first).empty());  // nothing came yet
    transfer::StreamSender peer;
    while (peer.has_room()) peer.put(transfer::WantRecord{std::string(1000, 'n')});
    const auto carry = [&] {
        while (const auto piece = peer.next_piece()) end.take(*piece);
    };
    carry();
    end.pump();
    REQUIRE(acks_in(first).size() == 1);
    // It never arrives. The peer says all of it again, and has no room to say anything else.
    end.connect(second);
    peer.rewind();
    carry();
    end.pump();
    const auto told = acks_in(second);
    REQUIRE(told.size() == 1);
    CHECK(told == acks_in(first));
    REQUIRE(peer.handle_consumed(told[0]));
    CHECK(peer.has_room());
    end.pump();
    CHECK(acks_in(second).size() == 1);
}

TEST_CASE("the stream begins on all links, and arrives in its order whichever is first") {
    End from(4), to(4);
    std::array<Wire, 4> wires;
    for (std::uint16_t stripe = 0; stripe < 4; ++stripe) from.connect(wires[stripe], stripe);
    std::vector<std::string> names;
    while (from.set.out().has_room()) {
        names.push_back(std::to_string(names.size()) + std::string(200, 'n'));
        from.set.out().put(transfer::WantRecord{names.back()});
    }
    from.pump();
    const std::size_t all = names.size() * 200;
    for (const Wire& wire : wires) CHECK(wire.taken.size() > all / 5);
    for (std::size_t stripe = 4; stripe-- > 1;) {
        to.take(wires[stripe]);
        CHECK(!to.set.next());  // the first piece of all is on the first link
    }
    to.take(wires[0]);
    to.take(wires[2]);  // seen before
    for (const std::string& name : names) {
        const auto record = to.set.next();
        REQUIRE(record);
        REQUIRE(std::get<transfer::WantRecord>(*record).name == name);
    }
    CHECK(!to.set.next());
}

TEST_CASE("a link that is gone holds up what the others brought until it comes again") {
    End from(2), to(2);
    Wire first, second, third;
    from.connect(first, 0);
    from.connect(second, 1);
    std::vector<std::string> names;
    while (names.size() < 100) {
        names.push_back(std::to_string(names.size()) + std::string(200, 'n'));
        from.set.out().put(transfer::WantRecord{names.back()});
    }
    from.pump();
    to.take(second);
    CHECK(!to.set.next());
    from.connect(third, 0);  // in place of the first, of which nothing arrived
    from.pump();
    to.take(third);
    to.take(second);
    for (const std::string& name : names) {
        const auto record = to.set.next();
        REQUIRE(record);
        REQUIRE(std::get<transfer::WantRecord>(*record).name == name);
    }
}

TEST_CASE(
    "what a silent link has not brought goes again where something is heard, and so does the "
    "rest") {
    End from(3), to(3);
    std::array<Wire, 3> wires;
    for (std::uint16_t stripe = 0; stripe < 3; ++stripe) from.connect(wires[stripe], stripe);
    std::vector<std::string> names;
    const auto put_some = [&] {
        for (int i = 0; i < 100; ++i) {
            names.push_back(std::to_string(names.size()) + std::string(200, 'n'));
            from.set.out().put(transfer::WantRecord{names.back()});
        }
    };
    put_some();
    from.pump();
    // Two say nothing for longer than a second, one does.
    sabul::append_stream_ack(wires[1].says, 0);
    from.poll(std::chrono::milliseconds(900));
    from.poll(std::chrono::milliseconds(1100));
    const std::size_t before = wires[0].taken.size() + wires[2].taken.size();
    put_some();
    from.pump();
    CHECK(wires[0].taken.size() + wires[2].taken.size() == before);
    to.take(wires[1]);
    for (const std::string& name : names) {
        const auto record = to.set.next();
        REQUIRE(record);
        REQUIRE(std::get<transfer::WantRecord>(*record).name == name);
    }
    // Once nobody is heard, any that lives will do.
    from.poll(std::chrono::milliseconds(2500));
    from.pump();
    CHECK(wires[0].taken.size() > before / 2);
}

TEST_CASE("a connection that never stops talking leaves the turn to others") {
    End end;
    Wire wire;
    end.connect(wire);
    sabul::append_stream_ack(wire.says, 0);
    wire.endless = true;
    end.poll(std::chrono::milliseconds(10));
    CHECK(end.next_time() <= kStart);
    wire.endless = false;
    end.poll(std::chrono::milliseconds(20));
    CHECK(end.next_time() == kNever);
}

TEST_CASE("a peer that sends what lies behind a gap for ever floods") {
    for (const std::size_t size : {std::size_t{1}, std::size_t{4096}}) {
        transfer::StreamReceiver receiver;
        const std::vector<std::byte> bytes(size);
        std::size_t pieces = 0;
        for (std::uint64_t at = 1; !receiver.flooded(); at += size, ++pieces) {
            REQUIRE(pieces <= 8 * transfer::kStreamWindow / size);
            receiver.handle_piece({at, bytes});
        }
        CHECK(pieces * (size + 128) > 8 * transfer::kStreamWindow);
        CHECK(pieces * (size + 128) < 9 * transfer::kStreamWindow);
        receiver.handle_piece({1, bytes});
        CHECK(receiver.flooded());
    }
}
