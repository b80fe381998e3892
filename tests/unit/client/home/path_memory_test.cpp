#include "client/home/path_memory.h"

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

KnownPath known(double bits, Duration round_trip) {
    return {.carried = BitRate{bits}, .round_trip = round_trip};
}

}  // namespace

TEST_CASE("a path that is as it was starts at half of what it carried") {
    const KnownPath path = known(1e9, milliseconds(100));
    CHECK(start_of(path) == BitRate{0.5e9});
    for (const Duration now : {milliseconds(51), milliseconds(100), milliseconds(199)})
        CHECK(is_known(path, now));
    for (const Duration now : {milliseconds(49), milliseconds(201), milliseconds(1)})
        CHECK(!is_known(path, now));
    // On one machine and in one room a round trip is what the scheduler makes of it.
    CHECK(is_known(known(1e10, microseconds(40)), microseconds(1900)));
    CHECK(!is_known(known(1e10, microseconds(40)), microseconds(2100)));
}

TEST_CASE("a path that carried little starts as one that nobody knows") {
    CHECK(!is_known(known(200e6, milliseconds(10)), milliseconds(10)));
    CHECK(is_known(known(202e6, milliseconds(10)), milliseconds(10)));
}

TEST_CASE("figures that make no sense are no path") {
    CHECK(known_path(1, 1) == known(1, microseconds(1)));
    CHECK(known_path(1'000'000'000'000, 60'000'000) == known(1e12, std::chrono::minutes(1)));
    CHECK(!known_path(0, 1));
    CHECK(!known_path(1, 0));
    CHECK(!known_path(1'000'000'000'001, 1));
    CHECK(!known_path(1, 60'000'001));
    CHECK(!known_path(UINT64_MAX, UINT64_MAX));
}

TEST_CASE("more is learnt at once, less bit by bit, and another path anew") {
    const KnownPath before = known(1e9, milliseconds(100));
    const KnownPath more = known(2e9, milliseconds(90));
    CHECK(learnt(std::nullopt, more) == more);
    CHECK(learnt(before, more) == more);
    CHECK(learnt(before, known(1e6, milliseconds(110))) == known(0.5e9, milliseconds(110)));
    CHECK(learnt(before, known(0.9e9, milliseconds(110))) == known(0.9e9, milliseconds(110)));
    CHECK(learnt(before, known(1e6, milliseconds(10))) == known(1e6, milliseconds(10)));
}

TEST_CASE("what is kept of a path is found again, of that path alone") {
    const Scratch scratch;
    const PathMemory paths(Marks(scratch / "paths", "path"));
    CHECK(!paths.find("put a"));
    paths.keep("put a", known(1e9, milliseconds(100)));
    paths.keep("get a", known(2e9, milliseconds(50)));
    CHECK(paths.find("put a") == known(1e9, milliseconds(100)));
    CHECK(paths.find("get a") == known(2e9, milliseconds(50)));
    CHECK(!paths.find("put b"));
    paths.keep("put a", known(1.05e9, milliseconds(100)));
    CHECK(paths.find("put a") == known(1e9, milliseconds(100)));  // no news
    paths.keep("put a", known(1.05e9, milliseconds(10)));
    CHECK(paths.find("put a") == known(1.05e9, milliseconds(10)));
    paths.keep("put a", known(1e6, milliseconds(10)));
    CHECK(paths.find("put a") == known(0.525e9, milliseconds(10)));
}

TEST_CASE("a path is kept while it is of use, and as long as it is used") {
    const Scratch scratch;
    const Marks marks(scratch / "paths", "path");
    const PathMemory paths(marks);
    const std::time_t now = std::time(nullptr), later = now + Marks::kLongest;
    paths.keep("put a", known(150e6, milliseconds(100)));
    CHECK(!marks.find("put a", now));
    paths.keep("put a", known(300e6, milliseconds(100)));
    paths.keep("put a", known(1e6, milliseconds(100)));  // that it faded is of use
    CHECK(paths.find("put a") == known(150e6, milliseconds(100)));
    paths.keep("put a", known(1e6, milliseconds(100)));
    CHECK(paths.find("put a") == known(150e6, milliseconds(100)));
    paths.keep("put a", known(1e9, milliseconds(100)));
    for (const auto& file : std::filesystem::directory_iterator(scratch / "paths"))
        std::filesystem::last_write_time(
            file, std::filesystem::file_time_type::clock::now() - std::chrono::days(29));
    CHECK(!marks.find("put a", now + std::chrono::seconds(std::chrono::days(2)).count()));
    paths.keep("put a", known(1.01e9, milliseconds(100)));
    CHECK(marks.find("put a", later - 60));
    CHECK(paths.find("put a") == known(1e9, milliseconds(100)));
}

TEST_CASE("a path of which something damaged is kept is not known") {
    const Scratch scratch;
    const Marks marks(scratch / "paths", "path");
    const PathMemory paths(marks);
    const std::time_t now = std::time(nullptr);
    for (const std::string text :
         {"", "1000000000", "1000000000 100", "1000000000 100000", "1000000000 \n", " 100000\n",
          "-1 100000\n", "1e9 100000\n", "1000000000 100000\n\n", "1000000000 100000 \n",
          "1000000000001 100000\n", "1000000000 60000001\n", "99999999999999999999 1\n"}) {
        REQUIRE(marks.keep("put a", text, now).ok());
        INFO(text);
        CHECK(!paths.find("put a"));
    }
    paths.keep("put a", known(1e9, milliseconds(100)));
    CHECK(paths.find("put a") == known(1e9, milliseconds(100)));
}

TEST_CASE("where nothing can be kept, nothing is known") {
    const Scratch scratch;
    const PathMemory paths(Marks(scratch.write("file", "no directory") + "/paths", "path"));
    paths.keep("put a", known(1e9, milliseconds(100)));
    CHECK(!paths.find("put a"));
}
