// What a receiver asked for, against what honest and other senders send.
#include "common/transfer/wanted.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::transfer;

namespace {

using Names = std::vector<std::string>;
using OfferKind = OfferRecord::Kind;

bool file(Wanted& wanted, const std::string& name) {
    return wanted.covers(FileRecord{.name = name, .data = {}}, false);
}
bool directory(Wanted& wanted, const std::string& name) {
    return wanted.covers(DirectoryRecord{.entry = 0, .metadata = {}, .name = name}, false);
}
bool link(Wanted& wanted, const std::string& name) {
    return wanted.covers(LinkRecord{.entry = 0, .metadata = {}, .name = name, .shows = "x"}, false);
}
bool same(Wanted& wanted, const std::string& name, const std::string& first) {
    return wanted.covers(SameRecord{0, name, first}, false);
}
bool offer(Wanted& wanted, const std::string& leaf, OfferKind kind, bool at_top = true) {
    return wanted.covers(
        OfferRecord{.kind = kind, .further = 0, .metadata = {}, .leaf = leaf, .text = {}}, at_top);
}

}  // namespace

TEST_CASE("wanted: a name means what is called so, and what lies below") {
    Wanted wanted({{"data/good"}, {"tree/"}}, {});
    CHECK(file(wanted, "good"));
    CHECK(directory(wanted, "tree"));
    CHECK(directory(wanted, "tree/sub"));
    CHECK(file(wanted, "tree/sub/.bashrc"));
    CHECK(link(wanted, "tree/link"));
    CHECK(same(wanted, "tree/b", "good"));
    CHECK(offer(wanted, "tree", OfferKind::directory));
    CHECK(offer(wanted, ".bashrc", OfferKind::file, false));

    CHECK_FALSE(file(wanted, ".bashrc"));
    CHECK_FALSE(file(wanted, "data/good"));
    CHECK_FALSE(file(wanted, "goods"));
    CHECK_FALSE(file(wanted, "goo"));
    CHECK_FALSE(directory(wanted, "."));
    CHECK_FALSE(directory(wanted, ".ssh"));
    CHECK_FALSE(file(wanted, ".ssh/authorized_keys"));
    CHECK_FALSE(link(wanted, "tree2"));
    CHECK_FALSE(same(wanted, ".bashrc", "good"));
    CHECK_FALSE(same(wanted, "good", "secret"));
    CHECK_FALSE(offer(wanted, ".bashrc", OfferKind::file));
    CHECK_FALSE(offer(wanted, ".", OfferKind::directory));
    // What is not sent may be called as it likes.
    CHECK(offer(wanted, "a pipe", OfferKind::skipped));
    CHECK(offer(wanted, "", OfferKind::leave));
    CHECK(wanted.covers(FailRecord{.name = "/data/x", .message = {}, .remedy = {}}, false));
    CHECK(wanted.covers(SkipRecord{"a pipe", "it is one"}, false));
}

TEST_CASE("wanted: a pattern means what its last component matches") {
    Wanted wanted({{"runs/*/a?.txt", true}, {"/logs/[xy]*/", true}, {"v\\*", true}}, {});
    CHECK(file(wanted, "a1.txt"));
    CHECK(directory(wanted, "x-files"));
    CHECK(file(wanted, "y/any/thing"));
    CHECK(file(wanted, "v*"));
    // Where that is a name, it is meant.
    CHECK(file(wanted, "a?.txt"));
    CHECK(file(wanted, "[xy]*"));

    CHECK_FALSE(file(wanted, "a12.txt"));
    CHECK_FALSE(file(wanted, ".a1.txt"));
    CHECK_FALSE(directory(wanted, "runs"));
    CHECK_FALSE(file(wanted, "runs/1/a1.txt"));
    CHECK_FALSE(file(wanted, "z/a1.txt"));
    CHECK_FALSE(directory(wanted, "."));
    // The wildcards do not match what begins with a dot, as a shell's.
    Wanted all({{"*", true}}, {});
    CHECK(file(all, "x"));
    CHECK_FALSE(file(all, ".bashrc"));
}

TEST_CASE("wanted: the contents of a directory have any name") {
    const auto want =
        GENERATE(WantRecord{"tree", false, true}, WantRecord{"tree*", true, true}, WantRecord{"/"},
                 WantRecord{""}, WantRecord{"."}, WantRecord{"tree/."});
    Wanted wanted({{"good"}, want}, {});
    CHECK(directory(wanted, "."));
    CHECK(file(wanted, ".bashrc"));
    CHECK(link(wanted, "sub/link"));
    CHECK(same(wanted, "a", "b"));
    CHECK(wanted.unheard() == Names{"good"});
    CHECK(file(wanted, "good"));
    CHECK(wanted.unheard().empty());
}

TEST_CASE("wanted: a directory's contents have failed where nothing tells of it") {
    Wanted wanted({{"tree", false, true}}, {});
    CHECK(file(wanted, "x"));
    CHECK(wanted.covers(SkipRecord{"a pipe", "it is one"}, false));
    CHECK(wanted.unheard() == Names{"."});
    const bool fails = GENERATE(false, true);
    if (fails) {
        CHECK(wanted.covers(FailRecord{.name = "in/tree", .message = {}, .remedy = {}}, false));
    } else {
        CHECK(offer(wanted, ".", OfferKind::directory));
    }
    CHECK(wanted.unheard().empty());
}

TEST_CASE("wanted: a name of which nothing was heard is known") {
    Wanted wanted({{"a"}, {"in/b"}, {"c"}, {"d"}, {"e"}, {"*.txt", true}}, {});
    CHECK(wanted.unheard() == Names{"a", "b", "c", "d", "e"});
    CHECK(file(wanted, "a"));
    CHECK(directory(wanted, "b"));
    CHECK(wanted.covers(FailRecord{.name = "c", .message = {}, .remedy = {}}, false));
    CHECK(offer(wanted, "d", OfferKind::file));
    CHECK(wanted.covers(SkipRecord{"e", "it is a pipe"}, false));  // what is named fails
    CHECK(wanted.unheard() == Names{"e"});
    // It is left out, or may be.
    const auto unheard = [](std::vector<Rule> rules, WantRecord want = {"e"}) {
        return Wanted({want}, {.rules = std::move(rules)}).unheard();
    };
    CHECK(unheard({{false, "e"}}).empty());
    CHECK(unheard({{false, "e/"}}).empty());
    CHECK(unheard({{true, "e"}, {false, "*"}}) == Names{"e"});
    CHECK(unheard({{false, "*"}}, {"tree", false, true}) == Names{"."});
}

TEST_CASE("wanted: what the rules of the walk leave out is not taken, nor what lies in it") {
    Wanted wanted({{"x"}, {"e"}},
                  {.rules = {{false, ".profile"}, {false, "/x/no/"}, {false, "/e"}}});
    CHECK(directory(wanted, "x"));
    CHECK(file(wanted, "x/a"));
    CHECK(file(wanted, "x/no"));  // of directories alone
    CHECK(file(wanted, "x/d/no/a"));
    CHECK(file(wanted, "x/d/no/b"));
    CHECK(offer(wanted, ".profile", OfferKind::skipped, false));

    CHECK_FALSE(file(wanted, "x/.profile"));
    CHECK_FALSE(link(wanted, "x/.profile"));
    CHECK_FALSE(same(wanted, "x/.profile", "x/a"));
    CHECK_FALSE(directory(wanted, "x/.profile"));
    CHECK_FALSE(directory(wanted, "x/no"));
    CHECK_FALSE(file(wanted, "x/no/a"));  // of a directory that was not announced
    CHECK_FALSE(file(wanted, "x/no/a/b/c"));
    CHECK_FALSE(file(wanted, "e"));
    CHECK(file(wanted, "x/d/no/c"));

    Wanted all({{"", false, true}}, {.rules = {{false, "*"}}});
    CHECK(directory(all, "."));
    CHECK_FALSE(file(all, "a"));
}

TEST_CASE("wanted: a link is taken only where links are to be kept") {
    for (const auto links : {ports::Links::skip, ports::Links::follow}) {
        Wanted wanted({{"tree"}}, {.links = links, .rules = {}});
        CHECK_FALSE(link(wanted, "tree/l"));
        CHECK(file(wanted, "tree/l"));
    }
    Wanted kept({{"tree"}}, {.links = ports::Links::keep, .rules = {}});
    CHECK(link(kept, "tree/l"));
}
