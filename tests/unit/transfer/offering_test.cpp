// What a sender offers, and what comes of it.
#include "tests/support/catch.h"
#include "tests/unit/transfer/offers.h"

using namespace lambda;
using namespace lambda::transfer;
using namespace lambda::transfer::testing;
using Names = std::vector<std::string>;

namespace {

// `count` extended attributes of `bytes` each.
ports::Found heavy(FoundKind kind, const std::string& name, std::size_t count, std::size_t bytes) {
    ports::Found made = found(kind, name, kind == FoundKind::link ? "x" : "");
    made.metadata.archived.emplace();
    for (std::size_t i = 0; i < count; ++i) {
        made.metadata.archived->extended.push_back(
            {"user." + std::to_string(1000 + i), std::string(bytes - 9, 'v')});
    }
    return made;
}

}  // namespace

TEST_CASE("offers: an entry with more extended attributes than a record carries fails alone") {
    const auto most = kMaxExtendedBytes / kMaxExtended;
    static_assert(kMaxExtendedBytes % kMaxExtended == 0);
    for (const bool whole : {true, false}) {
        Ends ends({.whole = whole},
                  {heavy(FoundKind::file, "as much as may be", kMaxExtended, most),
                   heavy(FoundKind::directory, "d", 1, kMaxExtendedBytes + 1),
                   heavy(FoundKind::file, "d/one too large", 1, 600'000),
                   found(FoundKind::file, "d/other"), kLeave,
                   heavy(FoundKind::link, "l", kMaxExtended + 1, 20),
                   heavy(FoundKind::file, "many", kMaxExtended + 1, 20)});
        ends.run();
        CHECK(ends.sound);
        CHECK(ends.comparison.over());
        CHECK(ends.sent(FoundKind::failed) == Names{"d", "d/one too large", "l", "many"});
        CHECK(ends.sent(FoundKind::file) == Names{"as much as may be", "d/other"});
        CHECK(ends.sent(FoundKind::link).empty());
    }
}

TEST_CASE("offers: an entry whose whole name is too long fails alone") {
    const std::string deep(200, 'd');
    std::string name = deep;
    while (name.size() <= ports::kLongestName) name += "/" + deep;
    Ends ends({.whole = true}, {found(FoundKind::failed, name), found(FoundKind::file, "other")});
    ends.run();
    CHECK(ends.sound);
    CHECK(ends.comparison.over());
    CHECK(ends.sent(FoundKind::failed) == Names{name});
    CHECK(ends.sent(FoundKind::file) == Names{"other"});
}

TEST_CASE("offers: of what lies in no tree, what an earlier try did stands, and nothing else") {
    for (const bool get : {false, true}) {
        for (const bool checksum : {false, true}) {
            INFO((get ? "get" : "put") << ", by digest " << checksum);
            Ends ends({.checksum = checksum, .tells = get},
                      {found(FoundKind::file, "in a tree"), kLeave, found(FoundKind::file, "a"),
                       found(FoundKind::file, "b"), found(FoundKind::file, "gone"),
                       found(FoundKind::directory, "d")});
            if (get) {
                ends.comparison.set_done_before({"a", "gone"});
            } else {
                ends.offering.set_done_before({"a", "gone"});
            }
            for (const char* name : {"in a tree", "a", "b"}) {
                ends.tree.standing[name] = {.kind = StandingKind::file, .metadata = {0, 5, 0644}};
            }
            ends.tree.standing["d"] = {.kind = StandingKind::file};
            ends.run();
            CHECK(ends.sound);
            CHECK(ends.comparison.over());
            CHECK(ends.sent(FoundKind::file) == Names{"b", "gone"});
            CHECK(ends.offering.totals().adopted == 2);
            CHECK(ends.comparison.totals().adopted == 2);
            CHECK(ends.changes.lines.empty());
        }
    }
}

TEST_CASE("offers: such an entry keeps what is extraneous from being deleted") {
    Ends ends({.whole = true, .erase = true}, {heavy(FoundKind::file, "f", 1, 200'000)});
    ends.tree.surplus = {"extra"};
    ends.run();
    CHECK(ends.comparison.over());
    CHECK(ends.tree.removed.empty());
    REQUIRE(ends.missed.size() == 1);
    CHECK(ends.missed[0].second.message.starts_with("nothing was deleted"));
}

TEST_CASE("offers: those without a verdict have an end in bytes, and the receiver takes them all") {
    std::vector<ports::Found> entries;
    for (int i = 100; i < 400; ++i) {
        entries.push_back(heavy(FoundKind::file, "f" + std::to_string(i), 2, 70'000));
    }
    const std::size_t each = 2 * 70'000 + 4;
    Ends ends({.whole = true}, entries);
    ends.tree.answers = false;
    REQUIRE(ends.begin());
    for (int turns = 0; turns < 500; ++turns) ends.turn();
    CHECK(ends.sound);
    CHECK(ends.given.empty());
    CHECK(ends.carried_bytes > kMostOfferedBytes);
    CHECK(ends.carried_bytes < kMostOfferedBytes + 2 * each);
    ends.tree.answer();
    for (int turns = 0; turns < 500 && !ends.comparison.over(); ++turns) ends.turn();
    CHECK(ends.comparison.over());
    CHECK(ends.sent(FoundKind::file).size() == 300);
}
