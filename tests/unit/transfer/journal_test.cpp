#include "common/transfer/journal.h"

#include <random>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

constexpr std::uint64_t kLeaf = kLeafBytes;

FileRecord record() {
    FileRecord made;
    made.size = 100 * kLeaf + 7;
    made.mtime_ns = -5;
    made.id = 77;
    made.name = "a";
    made.data = {{0, 40 * kLeaf}, {60 * kLeaf, made.size}};
    return made;
}

// As a disk: images go where they say.
struct File {
    std::vector<std::byte> bytes;
    void put(const Journal::Image& image) {
        bytes.resize(std::max<std::size_t>(bytes.size(), image.offset + image.bytes.size()));
        std::copy(image.bytes.begin(), image.bytes.end(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(image.offset));
    }
    void sync(Journal& journal) {
        const auto image = journal.begin_sync();
        REQUIRE(image);
        put(*image);
        journal.end_sync();
    }
};

IntervalSet set_of(const std::vector<Range>& ranges) {
    IntervalSet set;
    for (const Range& range : ranges) set.insert(range);
    return set;
}

bool within(const IntervalSet& part, const IntervalSet& all) {
    return std::all_of(part.ranges().begin(), part.ranges().end(),
                       [&](const Range& range) { return all.contains(range); });
}

// What a journal on disk says, or nothing.
std::optional<IntervalSet> read(ByteView file, const FileRecord& of = record()) {
    Journal journal(of);
    const bool fits = Journal::fits(file, identity_of(of));
    CHECK(journal.take_up(file) == fits);
    if (!fits) return std::nullopt;
    return set_of(journal.durable(kLeaf));
}

}  // namespace

TEST_CASE("a journal holds whole leaves that were written before the flush, and holes") {
    Journal journal(record());
    CHECK(journal.durable(kLeaf) == std::vector<Range>{{40 * kLeaf, 60 * kLeaf}});
    CHECK_FALSE(journal.begin_sync());
    journal.add_written({0, kLeaf / 2});
    CHECK_FALSE(journal.begin_sync());
    journal.add_written({kLeaf / 2, kLeaf});
    journal.add_written({98 * kLeaf, 100 * kLeaf + 7});
    const auto image = journal.begin_sync();
    REQUIRE(image);
    journal.add_written({kLeaf, 2 * kLeaf});  // after the flush began
    // Not before it ended.
    CHECK(journal.durable(kLeaf) == std::vector<Range>{{40 * kLeaf, 60 * kLeaf}});
    journal.end_sync();
    const std::vector<Range> expected{
        {0, kLeaf}, {40 * kLeaf, 60 * kLeaf}, {98 * kLeaf, 100 * kLeaf + 7}};
    CHECK(journal.durable(kLeaf) == expected);
    CHECK(journal.durable(4 * kLeaf) ==
          std::vector<Range>{{40 * kLeaf, 60 * kLeaf}, {100 * kLeaf, 100 * kLeaf + 7}});
    File file;
    file.put(*image);
    CHECK(read(file.bytes)->ranges() == expected);
    file.sync(journal);
    CHECK(read(file.bytes)->contains({0, 2 * kLeaf}));
    journal.forget({0, kLeaf});
    journal.add_written({2 * kLeaf, 3 * kLeaf});
    file.sync(journal);
    CHECK_FALSE(read(file.bytes)->intersects({0, kLeaf}));
}

TEST_CASE("what is found to be wrong while it is flushed does not count as durable") {
    Journal journal(record());
    journal.add_written({0, 3 * kLeaf});
    File file;
    const auto image = journal.begin_sync();
    REQUIRE(image);
    journal.forget({kLeaf, 2 * kLeaf});
    journal.end_sync();
    const IntervalSet durable = set_of(journal.durable(kLeaf));
    CHECK(durable.contains({0, kLeaf}));
    CHECK_FALSE(durable.intersects({kLeaf, 2 * kLeaf}));
    CHECK(durable.contains({2 * kLeaf, 3 * kLeaf}));
    // Nor do the images that follow say so.
    journal.add_written({5 * kLeaf, 6 * kLeaf});
    file.sync(journal);
    CHECK_FALSE(read(file.bytes)->intersects({kLeaf, 2 * kLeaf}));
}

TEST_CASE("a journal taken up goes on, and is of one source only") {
    File file;
    {
        Journal journal(record());
        journal.add_written({0, 4 * kLeaf});
        file.sync(journal);
        journal.add_written({4 * kLeaf, 8 * kLeaf});
        file.sync(journal);
    }
    Journal journal(record());
    REQUIRE(journal.take_up(file.bytes));
    journal.add_written({8 * kLeaf, 9 * kLeaf});
    file.sync(journal);
    CHECK(read(file.bytes)->contains({0, 9 * kLeaf}));
    CHECK(file.bytes.size() <= Journal::kMaxBytes);

    for (int what = 0; what < 4; ++what) {
        FileRecord other = record();
        if (what == 0) ++other.size;
        if (what == 1) ++other.mtime_ns;
        if (what == 2) ++other.id;
        if (what == 3) other.data = {{0, other.size}};
        CHECK_FALSE(read(file.bytes, other));
    }
}

TEST_CASE("a journal that is cut or garbled at any byte never says more than was durable") {
    Journal journal(record());
    File older, newer;
    journal.add_written({0, 4 * kLeaf});
    older.sync(journal);
    newer = older;
    journal.add_written({10 * kLeaf, 12 * kLeaf});
    journal.add_written({70 * kLeaf, 71 * kLeaf});
    newer.sync(journal);
    const IntervalSet before = *read(older.bytes), after = *read(newer.bytes);
    const auto harmless = [&](ByteView file) {
        const auto said = read(file);
        return !said || said->ranges() == before.ranges() || said->ranges() == after.ranges();
    };
    const std::size_t image = 60 + 16 * after.ranges().size() + 8;
    const std::mt19937::result_type seed = 1;
    std::mt19937 random(seed);
    for (const std::size_t slot : {std::size_t{0}, Journal::kSlotBytes}) {
        std::size_t lost = 0;
        for (std::size_t at = slot; at < std::min(slot + image, newer.bytes.size()); ++at) {
            // Cut.
            CHECK(harmless(ByteView(newer.bytes).first(at)));
            // Torn: what comes behind is still the slot's image of before, or nothing.
            std::vector<std::byte> torn = newer.bytes;
            for (std::size_t i = at; i < torn.size(); ++i)
                torn[i] = i < older.bytes.size() ? older.bytes[i] : std::byte{0};
            CHECK(harmless(torn));
            // Garbled.
            for (int times = 0; times < 8; ++times) {
                std::vector<std::byte> garbled = newer.bytes;
                garbled[at] ^= static_cast<std::byte>(times == 0 ? 0xff : 1 + random() % 255);
                CHECK(harmless(garbled));
                const auto said = read(garbled);
                lost += !said || said->ranges() != after.ranges();
            }
        }
        INFO("slot " << slot);
        CHECK(lost >= (slot == 0 ? image : 0));  // the newest image is in slot 0: it was noticed
    }
    for (int times = 0; times < 200; ++times) {
        std::vector<std::byte> noise(random() % 2000);
        for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
        CHECK_FALSE(read(noise));
    }
}

TEST_CASE("a journal with more ranges than fit keeps the first") {
    FileRecord many = record();
    many.size = 4 * kMaxDataRanges * kLeaf;
    many.data = {{0, many.size}};
    Journal journal(many);
    for (std::uint64_t i = 0; i < 2 * kMaxDataRanges; ++i)
        journal.add_written({2 * i * kLeaf, (2 * i + 1) * kLeaf});
    File file;
    file.sync(journal);
    CHECK(journal.durable(kLeaf).size() == kMaxDataRanges);
    const auto said = read(file.bytes, many);
    REQUIRE(said);
    CHECK(said->ranges().size() == kMaxDataRanges);
    CHECK(within(*said, set_of(journal.durable(kLeaf))));
}
