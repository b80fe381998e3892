// What a receiver that lies can do to a sender: nothing but end the transfer.
#include <cstring>
#include <utility>

#include "common/engine/send_side.h"
#include "tests/support/catch.h"
#include "tools/sim/list_walker.h"
#include "tools/sim/memory_disk.h"
#include "tools/sim/path.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMiB = 1u << 20;
constexpr std::size_t kDatagram = 1200;

class PlainCipher final : public ports::PacketCipher {
  public:
    std::size_t tag_bytes() const override { return 16; }
    void seal(std::span<const ports::SealJob> jobs) override {
        for (const ports::SealJob& job : jobs) {
            if (!job.text.empty())
                std::memcpy(job.packet + ports::kHeaderBytes, job.text.data(), job.text.size());
        }
    }
    void open(std::span<ports::OpenJob>) override {}
};

// Counts what is sent, and checks it against the one file. It may hold back the file's last packet.
class CheckedSocket final : public ports::DatagramSocket {
  public:
    explicit CheckedSocket(const std::vector<std::byte>& content) : content_(content) {}
    ports::SendOutcome send(std::span<const ByteView> parts, std::size_t segment, ports::Text,
                            const Address&) override {
        REQUIRE(parts.size() == 1);
        const ByteView burst = parts[0];
        std::uint64_t bytes = 0;
        for (std::size_t at = 0; at < burst.size(); at += segment) {
            const ByteView packet = burst.subspan(at, std::min(segment, burst.size() - at));
            const auto header = sabul::decode(packet);
            REQUIRE(header);
            next_number = std::max<std::uint64_t>(next_number, header->number + 1);
            if (header->type != sabul::PacketType::data) continue;
            const std::size_t digest = (header->flags & sabul::kLeafEnd) != 0 ? 16 : 0;
            const ByteView text = packet.subspan(ports::kHeaderBytes,
                                                 packet.size() - ports::kHeaderBytes - 16 - digest);
            REQUIRE(header->place + text.size() <= content_.size());
            REQUIRE(std::equal(text.begin(), text.end(),
                               content_.begin() + static_cast<std::ptrdiff_t>(header->place)));
            holds = holds || (hold_end && header->place + text.size() == content_.size());
            bytes += text.size();
        }
        if (holds) return ports::SendOutcome::would_block;
        file_bytes += bytes;
        return ports::SendOutcome::sent;
    }
    std::span<ports::Arrival> receive(const ports::TextPlaces&) override { return {}; }
    std::uint64_t dropped() const override { return 0; }
    std::size_t receive_buffer_bytes() const override { return kMiB; }
    std::size_t largest_datagram(const Address&) override { return kDatagram; }
    std::size_t max_segments() const override { return 64; }

    bool hold_end = false, holds = false;
    std::uint64_t next_number = 0;
    std::uint64_t file_bytes = 0;

  private:
    const std::vector<std::byte>& content_;
};

// A feedback connection whose other end is the test.
struct Wire {
    std::vector<std::byte> arriving;
    bool alive = true;
};

class WireEnd final : public ports::FeedbackChannel {
  public:
    explicit WireEnd(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
    bool send(ByteView) override { return true; }
    ByteView receive() override { return given_ = std::exchange(wire_->arriving, {}); }
    bool alive() const override { return wire_->alive; }

  private:
    std::shared_ptr<Wire> wire_;
    std::vector<std::byte> given_;
};

// Takes no name.
class FullWalker final : public ports::Walker {
  public:
    void set_options(ports::WalkOptions) override {}
    bool add(ports::WalkRoot) override { return false; }
    void no_more() override {}
    void take(std::vector<ports::Found>&, std::size_t) override {}
    std::uint64_t looked() const override { return 0; }
    bool ended() const override { return false; }
};

// A sender of one file over one stripe, and the test as its receiver.
class Hostile final : public ports::FeedbackSource, public ports::Clock {
  public:
    Hostile(std::size_t bytes, ports::Walker* walker = nullptr,
            std::optional<std::uint64_t> granted = {})
        : content(random_bytes(bytes, 1)), socket(content) {
        disk.files["big"].bytes = content;
        engine::Setup setup;
        setup.terms.stripes = 1;
        setup.is_client = walker == nullptr;
        setup.peer = address(1, 2811);
        setup.peer_ports = {50000};
        if (setup.is_client) setup.sources = {{"big", "big"}};
        setup.clock = this;
        setup.disk = &disk;
        setup.walker = walker == nullptr ? &names_ : walker;
        setup.most_bytes = granted;
        setup.feedback = this;
        setup.sockets = {&socket};
        setup.ciphers.emplace_back();
        setup.ciphers[0] = {std::make_unique<PlainCipher>(), std::make_unique<PlainCipher>()};
        sender.emplace(std::move(setup), world.now());
        connect();
    }
    // Some time passes.
    void turn(int times = 1) {
        for (; times > 0 && !sender->done(); --times) {
            const Time limit = world.now() + 1ms;
            while (world.step(limit)) {
            }
            sender->turn(world.now());
        }
    }
    void connect() {
        if (wire_) wire_->alive = false;
        wire_ = std::make_shared<Wire>();
        joined_ = ports::Joined{0, ++epoch_, std::make_unique<WireEnd>(wire_)};
        stream_.rewind();
    }
    // Of all numbers that there are, those that have not left among them.
    void ack() {
        sabul::Ack ack;
        ack.cumulative = ack.largest = socket.next_number;
        ack.credit = 1000;
        ack.buffer = kMiB;
        sabul::append_ack(wire_->arriving, ack);
    }
    void say(const transfer::Record& record) {
        stream_.put(record);
        while (const auto piece = stream_.next_piece()) {
            sabul::append_stream(wire_->arriving, piece->offset, piece->bytes);
            REQUIRE(stream_.handle_consumed(piece->offset + piece->bytes.size()));
        }
    }
    std::string cut() {
        REQUIRE(sender->done());
        return sender->outcome().cut ? sender->outcome().cut->message : "";
    }

    World world{1};
    Alarm alarm{world, [] {}};
    MemoryDisk disk{world, alarm, 4, kMiB};
    const std::vector<std::byte> content;
    CheckedSocket socket;
    std::optional<engine::SendSide> sender;

  private:
    std::optional<ports::Joined> poll() override { return std::exchange(joined_, std::nullopt); }
    void dial(std::uint16_t, std::uint32_t) override {}
    Time now() override { return world.now(); }

    ListWalker names_;
    transfer::StreamSender stream_;
    std::shared_ptr<Wire> wire_;
    std::optional<ports::Joined> joined_;
    std::uint32_t epoch_ = 0;
};

}  // namespace

// The stripe, or the list of what a lost stripe left, still knows the block by its index.
TEST_CASE(
    "hostile receiver: a leaf that is asked for before its block was left is sent once more") {
    const bool loses_link = GENERATE(false, true);
    INFO("loses link: " << loses_link);
    Hostile hostile(99'700);  // its last packet is short: it ends a burst
    hostile.ack();
    hostile.socket.hold_end = true;
    while (!hostile.socket.holds) {
        hostile.turn();
        hostile.ack();
    }
    if (loses_link) {
        hostile.connect();
        hostile.socket.holds = false;
        hostile.ack();
        hostile.turn(3);
        REQUIRE(hostile.socket.holds);
    }
    hostile.ack();
    hostile.say(transfer::AgainRecord{0, 0});
    hostile.turn(20);
    hostile.socket.hold_end = hostile.socket.holds = false;
    const std::uint64_t before = hostile.socket.file_bytes;
    for (int i = 0; i < 100; ++i) {
        hostile.turn();
        hostile.ack();
    }
    CHECK_FALSE(hostile.sender->done());
    // The packet that was held back, and the leaf.
    CHECK(hostile.socket.file_bytes - before > hostile.content.size());
    CHECK(hostile.socket.file_bytes - before < hostile.content.size() + kDatagram);
    // Another time it takes its turn as ever.
    hostile.say(transfer::AgainRecord{0, 0});
    for (int i = 0; i < 100; ++i) {
        hostile.turn();
        hostile.ack();
    }
    CHECK_FALSE(hostile.sender->done());
    CHECK(hostile.socket.file_bytes - before > 2 * hostile.content.size());
}

TEST_CASE("hostile receiver: a leaf that was never sent is not asked for again") {
    Hostile hostile(8 * kMiB);
    hostile.say(transfer::NothingRecord{});
    hostile.turn(20);
    CHECK_FALSE(hostile.sender->done());
    const bool read = GENERATE(true, false);
    hostile.say(transfer::AgainRecord{0, (read ? 0 : 7) * kMiB});
    hostile.turn(20);
    REQUIRE(hostile.sender->done() == !read);
    if (!read) CHECK(hostile.cut() == "the receiver sent a record that makes no sense");
}

TEST_CASE("hostile receiver: nothing more goes to one that was cut") {
    Hostile hostile(8 * kMiB);
    hostile.say(transfer::NothingRecord{});
    hostile.turn(20);  // blocks are read, and wait for credit
    REQUIRE(hostile.socket.file_bytes == 0);
    hostile.ack();
    const bool lies = GENERATE(true, false);
    if (lies) hostile.say(transfer::AgainRecord{0, 7 * kMiB});
    hostile.turn();
    CHECK(hostile.sender->done() == lies);
    CHECK((hostile.socket.file_bytes == 0) == lies);
}

TEST_CASE("hostile receiver: the end is not believed while a file is open") {
    Hostile hostile(8 * kMiB);
    hostile.say(transfer::NothingRecord{});
    // Before anything was announced, or all of it.
    hostile.turn(GENERATE(1, 20));
    hostile.say(transfer::SetDoneRecord{1, 0, 0});
    hostile.turn(2);
    CHECK(hostile.cut() == "the receiver sent a record that makes no sense");
    CHECK(hostile.sender->outcome().files == 0);
}

TEST_CASE("hostile receiver: the end is believed where every file was told of, and what failed") {
    const std::uint64_t failed = GENERATE(1u, 7u);  // told of or not
    Hostile hostile(8 * kMiB);
    hostile.say(transfer::NothingRecord{});
    hostile.turn(20);
    hostile.say(transfer::RefuseRecord{0, Fault::file, "no", ""});
    hostile.turn(2);
    hostile.say(transfer::SetDoneRecord{0, failed, 0});
    hostile.turn(2);
    CHECK(hostile.cut().empty());
    CHECK(hostile.sender->outcome().failed == failed);
}

TEST_CASE("hostile receiver: nothing goes there that nobody wanted gone") {
    Hostile hostile(8 * kMiB);
    hostile.say(transfer::NothingRecord{});
    hostile.turn(20);
    hostile.say(transfer::GoneRecord{"etc/passwd", false});
    hostile.turn(2);
    CHECK(hostile.cut() == "the receiver sent a record that makes no sense");
    CHECK(hostile.sender->outcome().deleted == 0);
}

TEST_CASE("hostile receiver: names that are asked for are bounded by their bytes") {
    FullWalker full;
    Hostile hostile(1, &full);
    std::size_t bytes = 0;
    while (!hostile.sender->done() && bytes < 400 * kMiB) {
        for (int i = 0; i < 100; ++i) {
            hostile.say(transfer::WantRecord{std::string(4000, 'n')});
            bytes += 2 * 4000;  // the path, and the name
        }
        hostile.turn();
    }
    CHECK(hostile.cut() == "more names are asked for than one transfer takes");
    CHECK(bytes <= session::Terms().memory + kMiB);
}

TEST_CASE("hostile receiver: of many records a turn takes some, and comes again at once") {
    constexpr std::uint64_t kRecords = 1000;
    FullWalker full;
    Hostile hostile(1, &full);
    hostile.turn();
    for (std::uint64_t i = 0; i < kRecords; ++i) hostile.say(transfer::WantRecord{"n"});
    const Time now = hostile.world.now();
    for (std::uint64_t before = 0; before < kRecords;) {
        const Time next = hostile.sender->turn(now);
        const std::uint64_t taken = hostile.sender->outcome().wants - before;
        REQUIRE(taken > 0);
        REQUIRE(taken <= engine::kRecordsPerTurn);
        before += taken;
        REQUIRE((next == now || before == kRecords));
    }
}

TEST_CASE("hostile receiver: what it says that it has counts to what was granted") {
    ListWalker walker;
    Hostile hostile(3 * kMiB, &walker, 4 * kMiB);
    hostile.disk.files["other"] = hostile.disk.files["big"];
    hostile.say(transfer::WantRecord{"big"});
    hostile.turn(20);
    hostile.say(transfer::HaveRecord{0, {{0, 3 * kMiB}}});
    hostile.turn(20);
    REQUIRE_FALSE(hostile.sender->done());
    hostile.say(transfer::WantRecord{"other"});
    hostile.turn(20);
    CHECK(hostile.cut() == "there is more to send than was granted");
}
