// The set stream over connections that die.
#include "common/engine/set_channel.h"

#include <utility>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::engine;

namespace {

constexpr Time kStart = Time(std::chrono::hours(1));

// A connection that takes what it is given, until it is dead.
struct Wire {
    std::vector<std::byte> taken;
    bool alive = true;
};

class WireEnd final : public ports::FeedbackChannel {
  public:
    explicit WireEnd(Wire& wire) : wire_(wire) {}
    bool send(ByteView frame) override {
        wire_.taken.insert(wire_.taken.end(), frame.begin(), frame.end());
        return true;
    }
    ByteView receive() override { return {}; }
    bool alive() const override { return wire_.alive; }

  private:
    Wire& wire_;
};

// One end of a set stream, whose link is replaced by the test.
class End final : public ports::FeedbackSource, private Links::Handler {
  public:
    void connect(Wire& wire) {
        joined_ = ports::Joined{0, ++epoch_, std::make_unique<WireEnd>(wire)};
        links_.poll(kStart, *this);
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

    SetChannel set;

  private:
    std::optional<ports::Joined> poll() override { return std::exchange(joined_, std::nullopt); }
    void dial(std::uint16_t, std::uint32_t) override {}
    void on_link(std::uint16_t, bool) override { set.on_links_changed(); }
    void on_link_lost(std::uint16_t) override { set.on_links_changed(); }
    bool on_frame(std::uint16_t, const sabul::Frame&) override { return true; }

    std::optional<ports::Joined> joined_;
    std::uint32_t epoch_ = 0;
    Links links_{*this, 1, false};
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
