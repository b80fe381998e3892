// What a sender that lies can do to the end that receives: nothing but end the transfer.
#include <utility>

#include "common/engine/receive_side.h"
#include "tests/support/catch.h"
#include "tools/sim/memory_disk.h"
#include "tools/sim/memory_tree.h"
#include "tools/sim/path.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMiB = 1u << 20;

class SilentSocket final : public ports::DatagramSocket {
  public:
    ports::SendOutcome send(std::span<const ByteView>, std::size_t, ports::Text,
                            const Address&) override {
        return ports::SendOutcome::sent;
    }
    std::span<ports::Arrival> receive(const ports::TextPlaces&) override { return {}; }
    std::uint64_t dropped() const override { return 0; }
    std::size_t receive_buffer_bytes() const override { return kMiB; }
    std::size_t largest_datagram(const Address&) override { return 1200; }
    std::size_t max_segments() const override { return 64; }
};

class NoCipher final : public ports::PacketCipher {
  public:
    std::size_t tag_bytes() const override { return 16; }
    void seal(std::span<const ports::SealJob>) override {}
    void open(std::span<ports::OpenJob>) override {}
};

// A feedback connection whose other end is the test.
struct Wire {
    std::vector<std::byte> arriving;
    bool full = false;
};

class WireEnd final : public ports::FeedbackChannel {
  public:
    explicit WireEnd(Wire& wire) : wire_(wire) {}
    bool send(ByteView) override { return !wire_.full; }
    ByteView receive() override { return given_ = std::exchange(wire_.arriving, {}); }
    bool alive() const override { return true; }

  private:
    Wire& wire_;
    std::vector<std::byte> given_;
};

// A receiver over one stripe, at the client where something is wanted, and the test as its sender.
class Hostile final : public ports::FeedbackSource, public ports::Clock {
  public:
    explicit Hostile(std::vector<transfer::WantRecord> wants,
                     const std::function<void(engine::Setup&)>& adjust = {}) {
        engine::Setup setup;
        setup.terms.stripes = 1;
        setup.is_client = !wants.empty();
        setup.peer = address(1, 2811);
        setup.peer_ports = {50000};
        setup.wants = std::move(wants);
        setup.target = {"here", true};
        setup.clock = this;
        setup.disk = &disk;
        setup.target_tree = &tree;
        setup.feedback = this;
        setup.sockets = {&socket_};
        setup.ciphers.emplace_back();
        setup.ciphers[0] = {std::make_unique<NoCipher>(), std::make_unique<NoCipher>()};
        if (adjust) adjust(setup);
        receiver.emplace(std::move(setup), world.now());
        joined_ = ports::Joined{0, 1, std::make_unique<WireEnd>(wire)};
        turn(2);
    }
    // Some time passes. When it wants its next turn.
    Time turn(int times = 1) {
        Time next{};
        for (; times > 0 && !receiver->done(); --times) {
            const Time limit = world.now() + 1ms;
            while (world.step(limit)) {
            }
            next = receiver->turn(world.now());
        }
        return next;
    }
    void say(const transfer::Record& record) {
        stream_.put(record);
        while (const auto piece = stream_.next_piece()) {
            sabul::append_stream(wire.arriving, piece->offset, piece->bytes);
            REQUIRE(stream_.handle_consumed(piece->offset + piece->bytes.size()));
        }
    }
    // FILE and CLOSE: of zeros, or of data that does not come.
    void file(const std::string& name, std::uint64_t hole, std::uint64_t data = 0) {
        transfer::FileRecord record;
        record.file = next_++;
        record.place = place_;
        record.size = hole + data;
        record.name = name;
        if (data > 0) record.data = {{0, data}};
        place_ += (data + kMiB - 1) / kMiB * kMiB;
        transfer::FileDigest digest(record.size);
        digest.add_zeros(0, record.size);
        say(record);
        say(transfer::CloseRecord{record.file, record.size, 1, digest.finish()});
    }
    void offer(transfer::OfferRecord::Kind kind, const std::string& leaf) {
        say(transfer::OfferRecord{.kind = kind, .metadata = {}, .leaf = leaf, .text = {}});
    }
    transfer::FileNumber next() { return next_++; }
    void finish() { say(transfer::FinishRecord{next_}); }
    std::string cut() {
        REQUIRE(receiver->done());
        return receiver->outcome().cut ? receiver->outcome().cut->message : "";
    }

    World world{1};
    Alarm alarm{world, [] {}};
    MemoryDisk disk{world, alarm, 16, kMiB};
    MemoryTree tree{world, alarm, disk};
    Wire wire;
    std::optional<engine::ReceiveSide> receiver;

  private:
    std::optional<ports::Joined> poll() override { return std::exchange(joined_, std::nullopt); }
    void dial(std::uint16_t, std::uint32_t) override {}
    Time now() override { return world.now(); }

    SilentSocket socket_;
    transfer::StreamSender stream_;
    std::optional<ports::Joined> joined_;
    transfer::FileNumber next_ = 0;
    std::uint64_t place_ = 0;
};

}  // namespace

TEST_CASE("hostile server: what nobody asked for is not written") {
    Hostile hostile({{"in/good"}});
    const std::string name = GENERATE("good", ".bashrc", "good/below", "in/good");
    CAPTURE(name);
    hostile.file(name, 0);
    hostile.turn(50);
    const bool asked = name.starts_with("good");
    REQUIRE(hostile.receiver->done() == !asked);
    if (!asked) CHECK(hostile.cut() == "the server sends what it was not asked for");
    CHECK(hostile.disk.files.contains("here/" + name) == asked);
}

// A file with the owner root and a set-user-ID bit would be root's program.
TEST_CASE("hostile server: owners and attributes that nobody asked for are not given") {
    const bool asked = GENERATE(false, true);
    CAPTURE(asked);
    Hostile hostile({{"good"}}, [&](engine::Setup& setup) { setup.walk.archive = asked; });
    const ports::Archived archived{.owner = {0, 0}, .extended = {{"user.evil", "1"}}};
    const transfer::Record record = GENERATE_COPY(
        transfer::Record(
            transfer::FileRecord{.mode = 04755, .archived = archived, .name = "good", .data = {}}),
        transfer::Record(
            transfer::DirectoryRecord{0, {.mode = 0777, .archived = archived}, "good"}),
        transfer::Record(
            transfer::LinkRecord{0, {.mode = 0777, .archived = archived}, "good", "to"}),
        transfer::Record(transfer::OfferRecord{
            .metadata = {.mode = 04755, .archived = archived}, .leaf = "good", .text = {}}));
    hostile.say(record);
    hostile.turn(50);
    REQUIRE(hostile.receiver->done() == !asked);
    if (!asked) CHECK(hostile.cut() == "the server sends what it was not asked for");
}

TEST_CASE("hostile sender: owners and attributes that were not granted are not given") {
    Hostile hostile({}, [](engine::Setup& setup) { setup.may_archive = false; });
    hostile.say(transfer::DirectoryRecord{0, {.archived = ports::Archived{}}, "good"});
    hostile.turn(1);
    CHECK(hostile.cut() == "owners and extended attributes were not granted");
    CHECK(hostile.disk.directories.empty());
}

// It would give what stands there attributes.
TEST_CASE("hostile server: what nobody asked for is not compared") {
    Hostile hostile({{"good"}});
    hostile.disk.directories["here"] = {};
    hostile.disk.files["here/.bashrc"] = {{}, 1, 0600};
    transfer::OfferRecord offer{.metadata = {0, 1, 0666}, .leaf = ".bashrc", .text = {}};
    hostile.say(offer);
    hostile.turn(50);
    CHECK(hostile.cut() == "the server sends what it was not asked for");
    CHECK(hostile.disk.files.at("here/.bashrc").mode == 0600);
}

TEST_CASE("hostile server: nothing of what was asked for is a failure") {
    Hostile hostile({{"good"}, {"in/other"}, {"none*", true}});
    hostile.file("other", 0);
    hostile.finish();
    hostile.turn(50);
    const engine::Outcome& outcome = hostile.receiver->outcome();
    CHECK_FALSE(outcome.cut);
    CHECK(outcome.files == 1);
    CHECK(outcome.failed == 1);
    REQUIRE(outcome.failures.size() == 1);
    CHECK(outcome.failures.front().name == "good");
}

// Of a tree that it offers; what the sender told as failed is no second failure.
TEST_CASE("hostile server: what was offered, wanted and not sent is a failure") {
    Hostile hostile({{"tree", false, true}},
                    [](engine::Setup& setup) { setup.plan = {.whole = true, .erase = true}; });
    hostile.disk.directories["here"] = {};
    hostile.disk.files["here/old"] = {{}, 1, 0600};
    hostile.offer(transfer::OfferRecord::Kind::directory, ".");
    for (const char* name : {"failed", "sent", "unsent"})
        hostile.offer(transfer::OfferRecord::Kind::file, name);
    hostile.offer(transfer::OfferRecord::Kind::leave, "");
    hostile.say(transfer::OfferedRecord{4, 0});
    hostile.turn(50);
    hostile.say(transfer::FailRecord{"failed", Fault::file, "gone", ""});
    hostile.say(transfer::DirectoryRecord{hostile.next(), {}, "."});
    hostile.file("sent", 0);
    hostile.say(transfer::LeaveRecord{0});
    hostile.finish();
    hostile.turn(50);
    const engine::Outcome& outcome = hostile.receiver->outcome();
    CHECK_FALSE(outcome.cut);
    CHECK(outcome.files == 1);
    CHECK(outcome.deleted == 0);
    CHECK(hostile.disk.files.contains("here/old"));
    std::vector<std::string> failed;
    for (const engine::FileFailure& each : outcome.failures) failed.push_back(each.name);
    CHECK(failed == std::vector<std::string>{"failed", "unsent", "."});  // it deletes nothing
}

TEST_CASE("hostile server: a transfer does not end before what is offered was judged") {
    Hostile hostile({{"tree"}}, [](engine::Setup& setup) { setup.plan = {.whole = true}; });
    hostile.offer(transfer::OfferRecord::Kind::file, "tree");
    hostile.say(transfer::OfferedRecord{1, 0});
    hostile.finish();
    hostile.turn(50);
    CHECK(hostile.cut() == "the sender sent a record that makes no sense");
}

TEST_CASE("hostile server: a dry run writes nothing") {
    Hostile hostile({{"good"}},
                    [](engine::Setup& setup) { setup.plan = {.whole = true, .dry_run = true}; });
    hostile.file("good", 0);
    hostile.finish();
    hostile.turn(50);
    CHECK(hostile.cut() == "the sender sent a record that makes no sense");
    CHECK(hostile.disk.files.empty());
}

TEST_CASE("hostile server: a sync writes nothing over what an option keeps") {
    Hostile hostile({{"tree", false, true}}, [](engine::Setup& setup) {
        setup.plan = {.whole = true, .ignore_existing = true};
    });
    hostile.disk.directories["here"] = {};
    hostile.disk.files["here/a"] = {{}, 1, 0600};
    hostile.offer(transfer::OfferRecord::Kind::directory, ".");
    for (const char* name : {"a", "b"}) hostile.offer(transfer::OfferRecord::Kind::file, name);
    hostile.offer(transfer::OfferRecord::Kind::leave, "");
    hostile.say(transfer::OfferedRecord{3, 0});
    hostile.turn(50);
    hostile.say(transfer::DirectoryRecord{hostile.next(), {}, "."});
    hostile.file("b", 0);
    hostile.turn(50);
    REQUIRE_FALSE(hostile.receiver->done());
    // Twice; what has the verdict "left"; what was not offered; another kind of it.
    const std::string name = GENERATE("b", "a", "c", "a directory");
    CAPTURE(name);
    if (name == "a directory") {
        hostile.say(transfer::DirectoryRecord{hostile.next(), {}, "a"});
    } else {
        hostile.file(name, 0);
    }
    hostile.turn(50);
    CHECK(hostile.cut() == "the server sends what the sync leaves as it is");
    CHECK(hostile.disk.files.at("here/a").mode == 0600);
    CHECK(hostile.disk.files.contains("here/b"));
    CHECK_FALSE(hostile.disk.files.contains("here/c"));
}

TEST_CASE("hostile sender: of a sync that was granted, too") {
    Hostile hostile({});
    hostile.disk.directories["here"] = {};
    hostile.say(transfer::SyncRecord{.whole = true, .existing = true});
    hostile.offer(transfer::OfferRecord::Kind::directory, ".");
    hostile.offer(transfer::OfferRecord::Kind::file, "a");
    hostile.offer(transfer::OfferRecord::Kind::leave, "");
    hostile.say(transfer::OfferedRecord{2, 0});
    hostile.turn(50);
    hostile.file("a", 0);
    hostile.turn(1);
    CHECK(hostile.cut() == "the client sends what its sync leaves as it is");
    CHECK(hostile.disk.files.empty());
}

TEST_CASE("hostile server: what the walk leaves out is not written") {
    Hostile hostile({{"tree"}}, [](engine::Setup& setup) {
        setup.walk = {.links = ports::Links::skip, .rules = {{false, ".profile"}}};
    });
    const bool is_link = GENERATE(false, true);
    hostile.say(transfer::DirectoryRecord{hostile.next(), {}, "tree"});
    if (is_link) {
        hostile.say(transfer::LinkRecord{hostile.next(), {}, "tree/l", "/etc"});
    } else {
        hostile.file("tree/.profile", 0);
    }
    hostile.turn(50);
    CHECK(hostile.cut() == "the server sends what it was not asked for");
    CHECK(hostile.disk.files.empty());
}

TEST_CASE("hostile sender: a sync is not told once something was announced") {
    Hostile hostile({});
    const bool late = GENERATE(false, true);
    if (late) hostile.file("a", 0);
    hostile.say(transfer::SyncRecord{.whole = true});
    hostile.turn(2);
    REQUIRE(hostile.receiver->done() == late);
    if (late) CHECK(hostile.cut() == "the sender sent a record that makes no sense");
}

TEST_CASE("hostile sender: nothing ends within a directory") {
    Hostile hostile({});
    hostile.say(transfer::DirectoryRecord{hostile.next(), {}, "d"});
    const bool left = GENERATE(false, true);
    if (left) hostile.say(transfer::LeaveRecord{0});
    hostile.finish();
    hostile.turn(2);
    CHECK((hostile.receiver->done() && hostile.receiver->outcome().cut) == !left);
}

TEST_CASE("hostile sender: more than was granted is not begun") {
    Hostile hostile({}, [](engine::Setup& setup) { setup.most_bytes = 2 * kMiB; });
    hostile.file("first", 0, 2 * kMiB);
    hostile.file("hole", kMiB);
    hostile.file("second", 0, 1);
    hostile.file("third", 0);
    hostile.turn(1);
    CHECK(hostile.cut() == "more was announced than was granted");
    CHECK(hostile.receiver->progress().files_known == 2);
    CHECK(hostile.receiver->progress().total_bytes == 2 * kMiB);
}

TEST_CASE("hostile sender: one that reads no feedback is waited for") {
    Hostile hostile({});
    hostile.wire.full = true;
    hostile.turn(1000);  // by then it was to be told something
    int at_once = 0;
    for (int i = 0; i < 100; ++i) {
        const Time next = hostile.turn();
        at_once += next <= hostile.world.now();
    }
    CHECK(at_once == 0);
}
