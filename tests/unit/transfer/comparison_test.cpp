// What a receiver judges of what it is offered, where an option keeps something, and what goes.
#include "common/transfer/comparison.h"

#include <array>

#include "tests/support/catch.h"
#include "tests/unit/transfer/offers.h"

using namespace lambda;
using namespace lambda::transfer;
using namespace lambda::transfer::testing;
using Names = std::vector<std::string>;

namespace {

const ports::Standing kDirectory{.kind = StandingKind::directory, .metadata = {0, 5, 0644}};

std::vector<ports::Found> three_names() {
    return {shared_file("a"), found(FoundKind::same, "b", "a"), found(FoundKind::same, "c", "a")};
}

// Two contents that differ and have one XXH3-128, since that is no defence against who wants it so:
// of a long input it adds up, over the words of a stripe, lo32(word ^ secret) * hi32(word ^ secret)
// and the word (xxHash, doc/xxhash_spec.md, "XXH3 Algorithm for long inputs"). Where the low halves
// are the secret's the products are 0, and only the sum of two such words is left.
std::pair<std::vector<std::byte>, std::vector<std::byte>> twins() {
    constexpr std::array secret{std::byte{0xb8}, std::byte{0xfe}, std::byte{0x6c}, std::byte{0x39},
                                std::byte{0x7c}, std::byte{0x01}, std::byte{0x81}, std::byte{0x2c}};
    std::vector<std::byte> one(4096);
    std::copy_n(secret.begin(), 4, one.begin());           // word 0 of stripe 0
    std::copy_n(secret.begin() + 4, 4, one.begin() + 64);  // of stripe 1
    std::vector<std::byte> other = one;
    one[4] = other[64 + 4] = std::byte{1};
    return {one, other};
}

// What is moved where the source holds one content, and at the target stands another.
Names moved(const std::vector<std::byte>& source, const std::vector<std::byte>& target,
            bool sender_strong, bool receiver_strong) {
    ports::Found file = found(FoundKind::file, "f");
    file.metadata.size = source.size();
    Ends ends({.whole = true, .checksum = true}, {file});
    if (sender_strong) ends.offering.set_strong();
    if (receiver_strong) ends.comparison.set_strong();
    ends.source_reader.content = source;
    ends.reader.content = target;
    ends.tree.standing["f"] = file_of(target.size(), 5);
    ends.run();
    CHECK(ends.sound);
    CHECK(ends.comparison.over());
    CHECK(ends.comparison.totals().adopted == (ends.sent(FoundKind::file).empty() ? 1 : 0));
    return ends.sent(FoundKind::file);
}

Names sorted(Names names) {
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace

TEST_CASE("comparison: no other name is made of a file that was left") {
    SECTION("ignored") {
        Ends ends({.whole = true, .ignore_existing = true}, three_names());
        ends.tree.standing["a"] = file_of(7, 5);
        ends.run();
        CHECK(ends.comparison.over());
        CHECK(ends.sent(FoundKind::file) == Names{"b", "c"});
        CHECK(ends.sent(FoundKind::same).empty());
        CHECK(ends.changes.lines == Names{"create b", "create c"});
    }
    SECTION("not made") {
        Ends ends({.whole = true, .existing = true}, three_names());
        ends.tree.standing["b"] = file_of(7, 5);
        ends.run();
        CHECK(ends.sent(FoundKind::file) == Names{"b"});
        CHECK(ends.sent(FoundKind::same).empty());
    }
    SECTION("newer") {
        Ends ends({.whole = true, .update = true}, three_names());
        ends.tree.standing["a"] = file_of(0, 6);
        ends.tree.standing["b"] = file_of(7, 4);
        ends.tree.standing["c"] = file_of(0, 5);  // as it is at the source
        ends.run();
        CHECK(ends.sent(FoundKind::file) == Names{"b"});
        CHECK(ends.sent(FoundKind::same).empty());
        CHECK(ends.offering.totals().adopted == 1);
        CHECK(ends.comparison.totals().adopted == 1);
    }
    SECTION("by digest") {
        Ends ends({.whole = true, .update = true, .checksum = true}, three_names());
        ends.tree.standing["a"] = file_of(0, 6);
        ends.tree.standing["b"] = file_of(0, 4);
        ends.run();
        CHECK(ends.comparison.over());
        CHECK(ends.sent(FoundKind::file) == Names{"c"});
        CHECK(ends.comparison.totals().mended == 1);
        CHECK(ends.tree.mended_from == std::vector<std::int64_t>{4});
    }
}

TEST_CASE("comparison: of a sync comes only what was offered and is wanted, and once") {
    Ends ends(
        {.whole = true, .ignore_existing = true},
        {found(FoundKind::file, "a"), found(FoundKind::file, "b"), found(FoundKind::directory, "d"),
         found(FoundKind::file, "d/n"), kLeave, found(FoundKind::directory, "e"), kLeave,
         found(FoundKind::directory, "new"), found(FoundKind::file, "new/f"), kLeave});
    ends.tree.standing["a"] = file_of(7, 5);
    ends.tree.standing["d"] = ends.tree.standing["e"] = kDirectory;
    const auto may = [&](const std::string& name, bool directory = false) {
        const Record file = FileRecord{.name = name, .data = {}};
        const Record entered = DirectoryRecord{.entry = 0, .metadata = {}, .name = name};
        return ends.comparison.may_come(directory ? entered : file, name);
    };
    ends.run();
    REQUIRE(ends.sound);
    CHECK(may("b"));
    CHECK(may("d/n"));
    CHECK(may("new/f"));
    CHECK_FALSE(may("a"));
    CHECK_FALSE(may("zz"));
    CHECK_FALSE(may("new/g"));
    CHECK_FALSE(may("d"));
    // A directory is announced where it is wanted, or something in it.
    CHECK(may(".", true));
    CHECK(may("d", true));
    CHECK(may("new", true));
    CHECK_FALSE(may("a", true));
    CHECK_FALSE(may("e", true));
    // It may have failed in part.
    ends.comparison.note_failed("new");
    CHECK(may("new", true));
    for (const char* name : {"b", "new", "new/f"}) ends.comparison.note_sent(name);
    ends.comparison.note_failed("d/n");
    for (const char* name : {"b", "d/n", "new/f"}) CHECK_FALSE(may(name));
    for (const char* name : {".", "d", "new"}) CHECK_FALSE(may(name, true));
    CHECK(ends.comparison.handle_finish());
    CHECK(ends.missed.empty());
}

TEST_CASE("comparison: without a sync what stands is kept by no option") {
    Ends ends({}, {found(FoundKind::file, "a")});
    ends.tree.standing["a"] = file_of(0, 5);
    ends.run();
    CHECK(ends.comparison.may_come(FileRecord{.name = "a", .data = {}}, "a"));
}

TEST_CASE("comparison: by SHA-256, a forged file of the same XXH3 is not adopted") {
    const auto [one, other] = twins();
    REQUIRE(one != other);
    REQUIRE(leaf_digest(one) == leaf_digest(other));
    CHECK(moved(one, other, false, false).empty());  // what XXH3 alone finds
    CHECK(moved(one, other, true, true) == Names{"f"});
    CHECK(moved(one, one, true, true).empty());
}

TEST_CASE("comparison: an end that says no SHA-256 where it was agreed on has nothing adopted") {
    const auto [one, other] = twins();
    CHECK(moved(one, one, false, true) == Names{"f"});
    CHECK(moved(one, one, true, false) == Names{"f"});
}

TEST_CASE("comparison: what stays and changed a moment ago is flushed before the end") {
    const auto ends_of = [](bool dry_run) {
        auto ends = std::make_unique<Ends>(
            SyncRecord{.whole = true, .dry_run = dry_run},
            std::vector{found(FoundKind::directory, "d"), kLeave, found(FoundKind::file, "f"),
                        found(FoundKind::link, "l", "f"), found(FoundKind::file, "moves"),
                        found(FoundKind::file, "old")});
        for (const char* name : {"f", "old"}) ends->tree.standing[name] = file_of(0, 5);
        ends->tree.standing["d"] = kDirectory;
        ends->tree.standing["l"] = {.kind = StandingKind::link, .metadata = {0, 5, 0644}};
        ends->tree.standing["l"].text = "f";
        ends->tree.standing["moves"] = file_of(7, 4);
        for (const char* name : {"d", "f", "l", "moves"}) ends->tree.standing[name].recent = true;
        return ends;
    };
    auto ends = ends_of(false);
    ends->tree.keeps = false;
    ends->run();
    CHECK_FALSE(ends->comparison.over());
    CHECK(ends->comparison.working());
    CHECK(ends->tree.kept == Names{"f", "l"});
    CHECK(ends->comparison.totals().adopted == 2);
    CHECK(ends->comparison.totals().mended == 0);
    ends->tree.answer();
    ends->turn();
    CHECK(ends->comparison.over());
    CHECK(ends->missed.empty());

    ends = ends_of(false);
    ends->tree.keep_error = error_of("cannot flush");
    ends->run();
    CHECK(ends->comparison.over());
    REQUIRE(ends->missed.size() == 2);
    CHECK(ends->missed[0].first == "f");
    CHECK(ends->comparison.totals().failed == 2);

    ends = ends_of(true);
    ends->run();
    CHECK(ends->comparison.over());
    CHECK(ends->tree.kept.empty());
}

TEST_CASE("comparison: what cannot be mended or kept counts as failed alone, at both ends") {
    const auto ends_of = [] {
        auto ends = std::make_unique<Ends>(
            SyncRecord{.whole = true},
            std::vector{found(FoundKind::file, "f"), found(FoundKind::link, "l", "f"),
                        found(FoundKind::file, "mode"), found(FoundKind::file, "old")});
        for (ports::Found& each : ends->walker.entries) each.metadata.size = 3;
        for (const char* name : {"f", "mode", "old"}) ends->tree.standing[name] = file_of(3, 5);
        ends->tree.standing["mode"].metadata.mode = 0600;
        ends->tree.standing["l"] = {.kind = StandingKind::link, .metadata = {3, 5, 0644}};
        ends->tree.standing["l"].text = "f";
        for (const char* name : {"f", "l"}) ends->tree.standing[name].recent = true;
        return ends;
    };
    const auto check = [](const Ends& ends, std::uint64_t adopted, std::uint64_t mended) {
        REQUIRE(ends.comparison.over());
        CHECK(ends.comparison.totals().adopted == adopted);
        CHECK(ends.comparison.totals().adopted_bytes == 3 * adopted);
        CHECK(ends.comparison.totals().mended == mended);
        CHECK(ends.offering.totals().adopted == adopted);
        CHECK(ends.offering.totals().adopted_bytes == 3 * adopted);
        CHECK(ends.offering.totals().mended == mended);
    };
    auto ends = ends_of();
    ends->run();
    check(*ends, 3, 1);
    ends = ends_of();
    ends->tree.mend_error = error_of("cannot set the mode");
    ends->run();
    check(*ends, 2, 0);
    CHECK(ends->comparison.totals().failed == 1);
    ends = ends_of();
    ends->tree.keep_error = error_of("cannot flush");
    ends->run();
    check(*ends, 2, 1);
    CHECK(ends->comparison.totals().failed == 2);
}

TEST_CASE("comparison: what a directory is in the way of fails unsent and without a word") {
    for (const bool dry_run : {true, false}) {
        Ends ends({.whole = true, .dry_run = dry_run}, {found(FoundKind::file, "f")});
        ends.tree.standing["f"] = kDirectory;
        ends.run();
        CHECK(ends.comparison.over());
        CHECK(ends.changes.lines.empty());
        CHECK(ends.sent(FoundKind::file).empty());
        REQUIRE(ends.missed.size() == 1);
        CHECK(ends.missed[0].second.message == "cannot write: it is a directory");
        CHECK(ends.missed[0].second.remedy == "remove it, or sync with --delete");
    }
    Ends ends({}, {found(FoundKind::file, "f")});
    ends.tree.standing["f"] = kDirectory;
    ends.run();
    REQUIRE(ends.missed.size() == 1);
    CHECK(ends.missed[0].first == "f");
    CHECK(ends.missed[0].second.path == "to/f");
    CHECK(ends.missed[0].second.remedy == "remove it");
}

TEST_CASE("comparison: a further name that is newer stays, too") {
    Ends ends({.whole = true, .update = true}, three_names());
    ends.tree.standing["b"] = file_of(9, 6);
    ends.run();
    CHECK(ends.sent(FoundKind::file) == Names{"a"});
    CHECK(ends.sent(FoundKind::same) == Names{"c"});
}

TEST_CASE("comparison: a further name is judged before it is settled with the first") {
    std::vector<ports::Found> names{shared_file("a")};
    for (int i = 0; i < 2000; ++i)
        names.push_back(found(FoundKind::link, "l" + std::to_string(i), "a"));
    names.push_back(found(FoundKind::same, "z", "a"));
    const std::vector<std::byte> content(4);
    names.front().metadata.size = names.back().metadata.size = content.size();
    Ends ends({.whole = true, .checksum = true}, std::move(names));
    for (const char* name : {"a", "z"}) ends.tree.standing[name] = file_of(content.size(), 5);
    ends.tree.standing["z"].is_first = true;
    ends.reader.content = ends.source_reader.content = content;
    ends.tree.waits_for = "z";
    ends.reader.answers = false;
    REQUIRE(ends.begin());
    for (int i = 0; i < 20; ++i) ends.turn();  // "a" is known at the source, and not yet here
    ends.tree.answer();
    ends.reader.answers = true;
    for (int i = 0; i < 20 && ends.sound; ++i) ends.turn();
    CHECK(ends.sound);
    CHECK(ends.comparison.over());
    CHECK(ends.comparison.totals().adopted == 1);
}

TEST_CASE("comparison: one file that stands for two is mended for neither of both") {
    const bool by_digest = GENERATE(false, true);
    std::vector<ports::Found> entries = {shared_file("a"), shared_file("b"),
                                         found(FoundKind::same, "x", "a"),
                                         found(FoundKind::same, "y", "b")};
    Ends ends({.whole = true, .checksum = by_digest}, entries);
    // "a" and "b" are one file there, "x" and "y" another: as many names as at the source.
    for (const std::string name : {"a", "b", "x", "y"}) {
        ends.tree.standing[name] = file_of(0, 5);
        ends.tree.standing[name].further = 1;
        ends.tree.standing[name].file = name < "x" ? 1 : 2;
    }
    SECTION("both agree") {
        ends.run();
        CHECK(ends.sent(FoundKind::file).empty());
        CHECK(ends.sent(FoundKind::same) == Names{"x", "y"});
    }
    SECTION("one does not") {
        const std::string differs = GENERATE("a", "b");
        ends.tree.standing[differs].metadata.mode = 0600;
        ends.run();
        CHECK(ends.sent(FoundKind::file) == Names{"b"});
        CHECK(ends.sent(FoundKind::same) == Names{"x", "y"});
    }
}

TEST_CASE("comparison: a further name of a link that was left is said to be missed") {
    ports::Found link = found(FoundKind::link, "l", "x");
    link.further = 1;
    Ends ends({.whole = true, .ignore_existing = true}, {link, found(FoundKind::same, "m", "l")});
    ends.tree.standing["l"] = {.kind = StandingKind::link, .text = "y"};
    ends.run();
    CHECK(ends.sent(FoundKind::same).empty());
    CHECK(ends.sent(FoundKind::file).empty());
    REQUIRE(ends.missed.size() == 1);
    CHECK(ends.missed[0].first == "m");
}

TEST_CASE("comparison: further names wait with a first name that is blocked") {
    Ends ends({.whole = true, .erase = true}, three_names());
    ends.tree.standing["a"] = kDirectory;
    ends.tree.standing["b"] = file_of(9, 9);
    ends.tree.in_the_way = {"a/inside", "a"};
    ends.run();
    CHECK(ends.comparison.over());
    CHECK(ends.tree.removed == Names{"a/inside", "a"});
    CHECK(ends.changes.lines == Names{"replace a", "replace b", "create c"});
    Names order;
    for (const ports::Found& each : ends.given) {
        if (each.kind == FoundKind::file || each.kind == FoundKind::same)
            order.push_back(each.name);
    }
    CHECK(order == Names{"a", "b", "c"});
}

TEST_CASE("comparison: what cannot be looked at is left where an option keeps what stands there") {
    const SyncRecord plans[] = {{.whole = true, .update = true},
                                {.whole = true, .existing = true},
                                {.whole = true, .ignore_existing = true},
                                {.whole = true}};
    for (const SyncRecord& plan : plans) {
        Ends ends(plan, {found(FoundKind::directory, "d"), found(FoundKind::file, "d/f"), kLeave});
        ends.tree.standing["d"] = kDirectory;
        ends.tree.standing["d/f"].error = error_of("cannot open the directory");
        ends.run();
        const bool keeps = plan.update || plan.existing || plan.ignore_existing;
        CHECK(ends.sent(FoundKind::file) == (keeps ? Names{} : Names{"d/f"}));
        CHECK(ends.missed.size() == (keeps ? 1 : 0));
    }
}

TEST_CASE("comparison: nothing in the way goes where what would come cannot be read") {
    for (const bool readable : {false, true}) {
        Ends ends({.whole = true, .erase = true},
                  {found(FoundKind::file, "f"), found(FoundKind::link, "l", "x")});
        ends.tree.standing["f"] = ends.tree.standing["l"] = kDirectory;
        ends.tree.in_the_way = {"f", "l"};
        if (!readable) ends.source_reader.unreadable = {"f"};
        ends.run();
        CHECK(ends.comparison.over());
        CHECK(ends.tree.removed == (readable ? Names{"f", "l"} : Names{}));
        CHECK(ends.sent(FoundKind::file) == Names{"f"});
        REQUIRE(ends.missed.size() == (readable ? 0 : 1));
        if (!readable) CHECK(ends.missed[0].second.message.starts_with("nothing was deleted"));
    }
}

TEST_CASE("comparison: where more are blocked than can wait, none is cleared") {
    std::vector<ports::Found> entries;
    for (int i = 1000; i < 1000 + 4200; ++i) {
        entries.push_back(found(FoundKind::file, "f" + std::to_string(i)));
    }
    Ends ends({.whole = true, .erase = true}, entries);
    for (const ports::Found& each : entries) {
        ends.tree.standing[each.name] = kDirectory;
        ends.tree.in_the_way.push_back(each.name);
    }
    ends.run();
    CHECK(ends.comparison.over());
    CHECK(ends.tree.removed.empty());
    CHECK(ends.sent(FoundKind::failed).size() == 4200 - Offering::kMostBlocked);
    CHECK(sorted(ends.sent(FoundKind::file)).size() == Offering::kMostBlocked);
    REQUIRE(ends.missed.size() == 1);
    CHECK(ends.missed[0].second.message.starts_with("nothing was deleted"));
}

TEST_CASE("comparison: a fault that shows late stops what is left to be deleted, and says so") {
    Ends ends({.whole = true, .erase = true}, {found(FoundKind::file, "f")});
    ends.tree.standing["f"] = kDirectory;
    ends.tree.in_the_way = {"f"};
    ends.tree.surplus = {"extra"};
    ends.reports_fault = true;
    ends.run();
    CHECK(ends.tree.removed == Names{"f"});
    REQUIRE(ends.missed.size() == 1);
    CHECK(ends.missed[0].second.message.starts_with("nothing more was deleted"));
}
