#include "client/transfer/landing.h"

#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

TEST_CASE("where no mark can be kept, the user is told what to write") {
    const Scratch scratch;
    const std::string file = scratch.write("file", "no directory");
    Landing landing(Marks(file + "/marks", "landing"), {"put", "a", "b"});
    CHECK(!landing.goes_on());
    CHECK(remedy_of(landing, "tree").empty());
    landing.begins();
    CHECK(!landing.goes_on());
    CHECK(remedy_of(landing, "tree").ends_with("name the source tree/"));
    landing.ended(true);
}

TEST_CASE("a landing is known by all its ends, and lasts until all is done") {
    const Scratch scratch;
    const Marks marks(scratch / "marks", "landing");
    Landing first(marks, {"put", "tree", "there"});
    first.begins();
    first.ended(false);
    CHECK(Landing(marks, {"put", "tree", "there"}).goes_on());
    CHECK(!Landing(marks, {"get", "tree", "there"}).goes_on());
    CHECK(!Landing(marks, {"put", "treet", "here"}).goes_on());
    CHECK(!Landing(marks, {"put", "tree"}).goes_on());
    Landing(marks, {"put", "tree", "there"}).ended(true);
    CHECK(!first.goes_on());
}

TEST_CASE("another directory of the target's name is no target to go on with") {
    const Scratch scratch;
    const Marks marks(scratch / "marks", "landing");
    const auto landing = [&] { return Landing(marks, {"get", "tree", "here"}, scratch / "here"); };
    Landing first = landing();
    first.begins();
    std::filesystem::create_directory(scratch / "here");
    CHECK(landing().goes_on());  // killed
    first.ended(false);
    CHECK(landing().goes_on());
    std::filesystem::rename(scratch / "here", scratch / "aside");
    CHECK_FALSE(landing().goes_on());
    std::filesystem::create_directory(scratch / "here");
    CHECK_FALSE(landing().goes_on());
}

TEST_CASE("patterns mean of what a tree holds what they meant of the tree") {
    const auto within = [](std::vector<std::string> patterns) {
        std::vector<transfer::Rule> rules;
        for (std::string& pattern : patterns) rules.push_back({true, std::move(pattern)});
        std::vector<std::string> got;
        for (const transfer::Rule& rule : rules_within("tree", rules)) {
            CHECK(rule.include);
            got.push_back(rule.pattern);
        }
        return got;
    };
    using Patterns = std::vector<std::string>;
    CHECK(within({"*.o", "sub/", "a/b"}) == Patterns{"*.o", "sub/", "a/b"});
    CHECK(within({"/tree/sub/", "/tr*/a/b", "/?ree/*"}) == Patterns{"/sub/", "/a/b", "/*"});
    CHECK(within({"/tree", "/tree/", "/", "", "/sub", "/other/sub"}) == Patterns{""});
    CHECK(within({"tree/sub", "x"}) == Patterns{"/sub", "tree/sub", "x"});
    CHECK(within({"/**/sub", "**"}) == Patterns{"/**/sub", "**"});
}
