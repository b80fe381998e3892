// Transfers that are cut at any moment and run again: whole in the end, and nothing durable moves
// twice.
#include <cstdlib>

#include "common/transfer/journal.h"
#include "common/transfer/source.h"
#include "tests/support/catch.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMiB = 1u << 20;

std::uint64_t seed() {
    const char* given = std::getenv("LAMBDA_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : 20260102;
}

Options options(session::Direction direction = session::Direction::put) {
    Options made;
    made.terms.direction = direction;
    made.terms.initial_rate = made.terms.highest_rate = BitRate{200e6};
    made.slots = 8;
    return made;
}

// A set that is sent in several runs; what lies at the receiver stays between them.
struct Set {
    std::map<std::string, MemoryFile> source, target;
    bool lose_power = false;
    std::uint64_t runs = 0;

    std::vector<transfer::SourceName> names() const {
        std::vector<transfer::SourceName> list;
        for (const auto& [name, file] : source) list.push_back({name, name});
        return list;
    }
    // Until `stop`; the outcome at the receiver.
    engine::Outcome run(Options with, Duration stop, engine::Outcome* at_sender = nullptr) {
        with.limit = stop;
        Run now(seed() + ++runs, with, names(), {"dir", true});
        now.source.files = source;
        now.target.files = target;
        now.run();
        const engine::Outcome outcome = now.receiver->outcome();
        if (at_sender != nullptr) *at_sender = now.sender->outcome();
        now.sender_host.stop();
        now.receiver_host.stop();
        if (lose_power) {
            now.target.lose_power();
        } else {
            now.target.let_go();
        }
        target = now.target.files;
        return outcome;
    }
    bool whole() const {
        for (const auto& [name, file] : source) {
            const auto at = target.find("dir/" + name);
            if (at == target.end() || at->second.bytes != file.bytes) return false;
        }
        return target.size() == source.size();
    }
    // What the journal of a file says that is durable.
    std::uint64_t durable(const std::string& name) const {
        const auto at = target.find("dir/" + name + ".journal");
        if (at == target.end()) return 0;
        const MemoryFile& file = source.at(name);
        transfer::FileRecord record;
        record.size = file.bytes.size();
        record.mtime_ns = file.mtime_ns;
        record.id = file.id;
        record.data = {{0, record.size}};
        transfer::Journal journal(record);
        if (!journal.take_up(at->second.bytes)) return 0;
        std::uint64_t sum = 0;
        for (const Range& range : journal.durable(transfer::kLeafBytes)) sum += range.length();
        return sum;
    }
};

Set one_file(std::size_t bytes = 24 * kMiB + 99) {
    Set set;
    set.source["f"] = {random_bytes(bytes, 5), 1234567890123456789, 0640};
    return set;
}

}  // namespace

TEST_CASE("a transfer that was cut goes on where it was") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Set set = one_file();
        const engine::Outcome first = set.run(options(direction), 700ms);
        const std::uint64_t durable = set.durable("f");
        CHECK(durable > 4 * kMiB);
        CHECK(first.bytes - durable < 16 * kMiB);
        engine::Outcome sender;
        const engine::Outcome second = set.run(options(direction), 1min, &sender);
        CHECK_FALSE(second.cut);
        CHECK(set.whole());
        CHECK(second.verified == 1);
        CHECK(second.bytes_kept == durable);
        CHECK(sender.bytes_kept == durable);
        CHECK(second.bytes == 24 * kMiB + 99 - durable);
        CHECK(sender.bytes == second.bytes);
    }
}

TEST_CASE(
    "cut again and again at random moments, with power lost, blocks of any size, small rings") {
    const bool lose_power = GENERATE(false, true);
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    INFO("seed " << seed());
    std::mt19937_64 random(seed() + (lose_power ? 1 : 0));
    for (int times = 0; times < 4; ++times) {
        Set set;
        set.lose_power = lose_power;
        for (const char* name : {"a", "b", "c", "d", "e"})
            set.source[name] = {random_bytes(random() % (6 * kMiB), random()), 3, 0600};
        set.source["e"].bytes.resize(3000);
        auto& sparse = set.source["b"].bytes;
        sparse.resize(9 * kMiB + 5);
        std::fill(sparse.begin() + kMiB, sparse.begin() + 4 * kMiB, std::byte{0});
        Options with = options(direction);
        with.forward.loss = random() % 2 == 0 ? 0.01 : 0;
        bool done = false;
        for (int run = 0; run < 60 && !done; ++run) {
            with.terms.stripes = static_cast<std::uint16_t>(1 + random() % 6);
            with.slots = static_cast<std::uint32_t>(2 + random() % 9);
            with.terms.block = static_cast<std::uint32_t>((1 + random() % 3) * kMiB);
            const Duration stop = run < 40 ? 20ms + (random() % 600) * 1ms : Duration{1min};
            const engine::Outcome outcome = set.run(with, stop);
            CHECK(outcome.failed == 0);
            CHECK(outcome.files == outcome.verified);
            done = set.whole();
        }
        CHECK(done);
    }
}

TEST_CASE("a leaf of the partial file that rotted between runs is found, and moves again alone") {
    for (const auto direction : {session::Direction::put, session::Direction::get}) {
        Set set = one_file();
        set.run(options(direction), 700ms);
        const std::uint64_t durable = set.durable("f");
        REQUIRE(durable > 4 * kMiB);
        set.target.at("dir/f.part").bytes[kMiB + 17] ^= std::byte{1};
        set.target.at("dir/f.part").bytes[2 * kMiB + 5] ^= std::byte{1};
        engine::Outcome sender;
        const engine::Outcome second = set.run(options(direction), 1min, &sender);
        CHECK(set.whole());
        CHECK(second.leaves_again == 2);
        CHECK(second.bytes_kept == durable - 2 * kMiB);
        CHECK(sender.bytes_kept == second.bytes_kept);
        CHECK(second.bytes == 24 * kMiB + 99 - durable + 2 * kMiB);
    }
}

TEST_CASE("a partial file that lost what its journal names is filled again") {
    Set set = one_file(12 * kMiB);
    set.run(options(), 500ms);
    REQUIRE(set.durable("f") > 2 * kMiB);
    set.target.at("dir/f.part").bytes.resize(kMiB + 100);
    const engine::Outcome second = set.run(options(), 1min);
    CHECK(set.whole());
    CHECK(second.leaves_again > 0);
}

TEST_CASE("a source that changed starts again, or is compared where it looks the same") {
    Set set = one_file();
    set.run(options(), 700ms);
    REQUIRE(set.durable("f") > 4 * kMiB);
    Set same_look = set;
    set.source["f"].bytes[5] ^= std::byte{1};
    set.source["f"].mtime_ns += 1;
    const engine::Outcome again = set.run(options(), 1min);
    CHECK(set.whole());
    CHECK(again.bytes_kept == 0);
    CHECK(again.bytes == 24 * kMiB + 99);

    // Written over with size and time put back: no journal can know, the comparison does.
    same_look.source["f"].bytes[3 * kMiB] ^= std::byte{1};
    const engine::Outcome compared = same_look.run(options(), 1min);
    CHECK(same_look.whole());
    CHECK(compared.leaves_again == 1);
    CHECK(compared.bytes_kept > 4 * kMiB);
}

TEST_CASE("a garbled journal costs no more than the transfer from the start") {
    std::mt19937_64 random(seed());
    Set cut = one_file();
    cut.run(options(), 700ms);
    const std::size_t size = cut.target.at("dir/f.journal").bytes.size();
    for (int times = 0; times < 8; ++times) {
        Set set = cut;
        auto& journal = set.target.at("dir/f.journal").bytes;
        if (times % 2 == 0) {
            journal.resize(random() % size);
        } else {
            for (int i = 0; i < 4; ++i) {
                const std::size_t slot = random() % 2 * transfer::Journal::kSlotBytes;
                const std::size_t at = slot + random() % 100;
                if (at < size) journal[at] ^= static_cast<std::byte>(1 + random() % 255);
            }
        }
        const engine::Outcome outcome = set.run(options(), 1min);
        CHECK(outcome.failed == 0);
        CHECK(set.whole());
    }
}

TEST_CASE("new data moves before old data is compared") {
    Set set = one_file(24 * kMiB);
    set.run(options(), 800ms);
    const std::uint64_t durable = set.durable("f");
    REQUIRE(durable > 4 * kMiB);
    Options with = options();
    Run now(seed(), with, set.names(), {"dir", true});
    now.source.files = set.source;
    now.target.files = set.target;
    std::uint64_t old_reads = 0, old_reads_before = 0;
    bool new_read = false;
    now.source.on_read = [&](const std::string&, std::uint64_t offset) {
        if (offset >= durable && !new_read) {
            new_read = true;
            old_reads_before = old_reads;
        }
        old_reads += offset < durable;
    };
    REQUIRE(now.run());
    CHECK(old_reads_before <= 4 * transfer::Source::kComparesAhead);
    CHECK(old_reads >= durable / ports::kDiskPieceBytes);
}

TEST_CASE("where nothing was cut, no file waits to hear so") {
    const auto first_packet = [](std::size_t bytes) {
        Options with = options();
        with.feedback_delay = with.forward.delay = with.backward.delay = 100ms;
        Set set = one_file(bytes);
        Run now(seed(), with, set.names(), {"dir", true});
        now.source.files = set.source;
        Time first = kNever;
        const Time begin = now.world.now();
        std::function<void()> watch = [&] {
            if (now.receiver->progress().sent_packets == 0) return now.world.after(1ms, watch);
            first = now.world.now();
        };
        now.world.after(1ms, watch);
        REQUIRE(now.run());
        return seconds(first - begin);
    };
    // One that may have been cut, and one that is too small for it.
    CHECK(first_packet(2 * kMiB) <= first_packet(kMiB) + 0.005);
}
