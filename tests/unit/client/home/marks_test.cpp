#include "client/home/marks.h"

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

const std::string kPut("put\0/here/tree\0there\0", 21);
const std::string kText = "two\nlines\n";

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

TEST_CASE("a mark is of what it is known by, until it is dropped") {
    const Scratch scratch;
    const Marks marks(scratch / "made/on/the/way", "title");
    const std::time_t now = std::time(nullptr);
    CHECK(!marks.find(kPut, now));
    marks.drop(kPut);
    REQUIRE(marks.keep(kPut, kText, now).ok());
    REQUIRE(marks.keep(kPut, kText, now).ok());
    CHECK(marks.find(kPut, now) == kText);
    CHECK(!marks.find(kPut + "x", now));
    CHECK(!marks.find("", now));
    CHECK(!Marks(scratch / "made/on/the/way", "another title").find(kPut, now));
    CHECK(files_in(scratch / "made/on/the/way") == 1);
    marks.drop(kPut);
    CHECK(!marks.find(kPut, now));
    CHECK(files_in(scratch / "made/on/the/way") == 0);
}

TEST_CASE("an old mark says nothing, and goes with the next") {
    const Scratch scratch;
    const Marks marks(scratch / "marks", "title");
    const std::time_t now = std::time(nullptr);
    REQUIRE(marks.keep(kPut, kText, now).ok());
    const std::string mark = mark_in(scratch / "marks");
    set_time(mark, now - Marks::kLongest);
    CHECK(marks.find(kPut, now) == kText);
    set_time(mark, now - Marks::kLongest - 1);
    CHECK(!marks.find(kPut, now));
    REQUIRE(marks.keep("another", kText, now).ok());
    CHECK(!fs::exists(mark));
}

TEST_CASE("of too many marks the oldest go, with what killed processes left, and nothing else") {
    const Scratch scratch;
    const std::string directory = scratch / "marks";
    const Marks marks(directory, "title");
    const std::time_t now = std::time(nullptr);
    REQUIRE(marks.keep(kPut, kText, now).ok());
    const std::string torn = mark_in(directory) + ".a1B2c3";
    fs::copy_file(mark_in(directory), torn);
    set_time(torn, now - 2000);
    set_time(mark_in(directory).substr(0, directory.size() + 33), now - 1000);
    const std::string other = scratch.write("marks/notes of mine", "keep me");
    set_time(other, 1);
    for (std::size_t i = 0; i < Marks::kMost; ++i) {
        CHECK(fs::exists(torn) == (i + 2 <= Marks::kMost));
        REQUIRE(marks.keep(std::to_string(i), kText, now).ok());
    }
    CHECK(!fs::exists(torn));
    CHECK(!marks.find(kPut, now));
    CHECK(marks.find("0", now) == kText);
    CHECK(fs::exists(other));
    CHECK(files_in(directory) == Marks::kMost + 1);
}

TEST_CASE("what is torn, too long, foreign or no file is no mark") {
    const Scratch scratch;
    const Marks marks(scratch / "marks", "title");
    const std::time_t now = std::time(nullptr);
    REQUIRE(marks.keep(kPut, kText, now).ok());
    const std::string mark = mark_in(scratch / "marks");
    const std::string whole = content_of(mark);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        std::ofstream(mark, std::ios::binary) << whole.substr(0, size);
        CHECK(marks.find(kPut, now) != kText);
    }
    for (const std::string& content :
         {whole + "x", whole + whole, std::string(1 << 20, '\0'), std::string("\xff\n")}) {
        std::ofstream(mark, std::ios::binary) << content;
        CHECK(marks.find(kPut, now) != kText);
    }
    std::ofstream(mark, std::ios::binary) << whole;
    CHECK(marks.find(kPut, now) == kText);
    fs::rename(mark, scratch / "elsewhere");
    fs::create_symlink(scratch / "elsewhere", mark);
    CHECK(!marks.find(kPut, now));
    REQUIRE(marks.keep(kPut, kText, now).ok());  // in place of the link
    CHECK(marks.find(kPut, now) == kText);
    fs::remove(mark);
    REQUIRE(::mkfifo(mark.c_str(), 0600) == 0);
    CHECK(!marks.find(kPut, now));  // and nobody waits for a writer
    fs::remove(mark);
    fs::create_directory(mark);
    CHECK(!marks.find(kPut, now));
    CHECK(!marks.keep(kPut, kText, now).ok());
    marks.drop(kPut);
}
