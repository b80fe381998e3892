#include "client/landing.h"

#include <sys/stat.h>
#include <utime.h>

#include <ctime>
#include <filesystem>

#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

namespace {

namespace fs = std::filesystem;

const std::string kLanding("put\0/here/tree\0there\0", 21);

std::size_t files_in(const std::string& directory) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

// The one mark that is there.
std::string mark_in(const std::string& directory) {
    return fs::directory_iterator(directory)->path();
}

void set_time(const std::string& file, std::time_t time) {
    const utimbuf times{time, time};
    REQUIRE(::utime(file.c_str(), &times) == 0);
}

}  // namespace

TEST_CASE("a mark is of one landing, until it is dropped") {
    const Scratch scratch;
    const LandingMarks marks(scratch / "made/on/the/way");
    const std::time_t now = std::time(nullptr);
    CHECK(!marks.has(kLanding, now));
    marks.drop(kLanding);
    REQUIRE(marks.keep(kLanding, now).ok());
    REQUIRE(marks.keep(kLanding, now).ok());
    CHECK(marks.has(kLanding, now));
    CHECK(!marks.has(kLanding + "x", now));
    CHECK(!marks.has("", now));
    CHECK(files_in(scratch / "made/on/the/way") == 1);
    marks.drop(kLanding);
    CHECK(!marks.has(kLanding, now));
    CHECK(files_in(scratch / "made/on/the/way") == 0);
}

TEST_CASE("an old mark says nothing, and goes with the next") {
    const Scratch scratch;
    const LandingMarks marks(scratch / "marks");
    const std::time_t now = std::time(nullptr);
    REQUIRE(marks.keep(kLanding, now).ok());
    const std::string mark = mark_in(scratch / "marks");
    set_time(mark, now - LandingMarks::kLongest);
    CHECK(marks.has(kLanding, now));
    set_time(mark, now - LandingMarks::kLongest - 1);
    CHECK(!marks.has(kLanding, now));
    REQUIRE(marks.keep("another", now).ok());
    CHECK(!fs::exists(mark));
}

TEST_CASE("of too many marks the oldest go, with what killed processes left, and nothing else") {
    const Scratch scratch;
    const std::string directory = scratch / "marks";
    const LandingMarks marks(directory);
    const std::time_t now = std::time(nullptr);
    REQUIRE(marks.keep(kLanding, now).ok());
    const std::string torn = mark_in(directory) + ".a1B2c3";
    fs::copy_file(mark_in(directory), torn);
    set_time(torn, now - 2000);
    set_time(mark_in(directory).substr(0, directory.size() + 33), now - 1000);
    const std::string other = scratch.write("marks/notes of mine", "keep me");
    set_time(other, 1);
    for (std::size_t i = 0; i < LandingMarks::kMost; ++i) {
        CHECK(fs::exists(torn) == (i + 2 <= LandingMarks::kMost));
        REQUIRE(marks.keep(std::to_string(i), now).ok());
    }
    CHECK(!fs::exists(torn));
    CHECK(!marks.has(kLanding, now));
    CHECK(marks.has("0", now));
    CHECK(fs::exists(other));
    CHECK(files_in(directory) == LandingMarks::kMost + 1);
}

TEST_CASE("what is torn, too long, foreign or no file is no mark") {
    const Scratch scratch;
    const LandingMarks marks(scratch / "marks");
    const std::time_t now = std::time(nullptr);
    REQUIRE(marks.keep(kLanding, now).ok());
    const std::string mark = mark_in(scratch / "marks");
    const std::string whole = content_of(mark);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        std::ofstream(mark, std::ios::binary) << whole.substr(0, size);
        CHECK(!marks.has(kLanding, now));
    }
    for (const std::string& content :
         {whole + "x", whole + whole, std::string(1 << 20, '\0'), std::string("\xff\n")}) {
        std::ofstream(mark, std::ios::binary) << content;
        CHECK(!marks.has(kLanding, now));
    }
    std::ofstream(mark, std::ios::binary) << whole;
    CHECK(marks.has(kLanding, now));
    fs::rename(mark, scratch / "elsewhere");
    fs::create_symlink(scratch / "elsewhere", mark);
    CHECK(!marks.has(kLanding, now));
    REQUIRE(marks.keep(kLanding, now).ok());  // in place of the link
    CHECK(marks.has(kLanding, now));
    fs::remove(mark);
    REQUIRE(::mkfifo(mark.c_str(), 0600) == 0);
    CHECK(!marks.has(kLanding, now));  // and nobody waits for a writer
    fs::remove(mark);
    fs::create_directory(mark);
    CHECK(!marks.has(kLanding, now));
    CHECK(!marks.keep(kLanding, now).ok());
    marks.drop(kLanding);
}

TEST_CASE("where no mark can be kept, the user is told what to write") {
    const Scratch scratch;
    const std::string file = scratch.write("file", "no directory");
    Landing landing(LandingMarks(file + "/marks"), {"put", "a", "b"});
    CHECK(!landing.goes_on());
    CHECK(remedy_of(landing, "tree").empty());
    landing.begins();
    CHECK(!landing.goes_on());
    CHECK(remedy_of(landing, "tree").ends_with("name the source tree/"));
    landing.ended(true);
}

TEST_CASE("a landing is known by all its ends, and lasts until all is done") {
    const Scratch scratch;
    const LandingMarks marks(scratch / "marks");
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
