#include "client/replicate/fleet_mark.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client::replicate {
namespace {

const FleetMark kOld{"1-42", 7};
const FleetMark kNew{"1-42", 12};

std::int64_t time_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

TEST_CASE("who sees the mark of a listing means the directory of who left it") {
    const Scratch scratch;
    const std::string there = scratch / "a/destination";
    CHECK_FALSE(see_mark(there, kOld));
    REQUIRE(leave_mark(there, kOld));
    CHECK(see_mark(there, kOld));
    const auto other = see_mark(scratch / "a", kOld);
    REQUIRE_FALSE(other);
    CHECK(other.error().fault == Fault::session);
    CHECK_FALSE(see_mark(there, kNew));
    CHECK_FALSE(see_mark(there, {"2-42", 7}));  // of another job

    REQUIRE(leave_mark(there, kNew));
    REQUIRE(leave_mark(there, kOld));  // by one who was stopped, and has lost its lease
    CHECK(see_mark(there, kNew));
    remove_mark(there, kOld);
    CHECK(see_mark(there, kNew));
    remove_mark(there, kNew);
    CHECK(std::filesystem::is_empty(there));
}

TEST_CASE("a mark leaves its directory's time alone, and one that is damaged is none") {
    const Scratch scratch;
    const std::string there = scratch / "destination";
    std::filesystem::create_directory(there);
    std::filesystem::last_write_time(there, std::filesystem::file_time_type());
    const std::int64_t before = time_of(there);
    REQUIRE(leave_mark(there, kOld));
    CHECK(time_of(there) == before);
    for (const char* damaged : {"", "7x", "-7", "123456789012345678901234567890"}) {
        CAPTURE(damaged);
        std::ofstream(there + "/.lambda-fleet-1-42") << damaged;
        CHECK_FALSE(see_mark(there, kOld));
        REQUIRE(leave_mark(there, kOld));
        CHECK(see_mark(there, kOld));
    }
    remove_mark(there, kOld);
    CHECK(time_of(there) == before);
}

TEST_CASE("a mark that cannot be left is said") {
    const Scratch scratch;
    std::ofstream(scratch / "file") << "in the way";
    const auto left = leave_mark(scratch / "file", kOld);
    REQUIRE_FALSE(left);
    CHECK(left.error().path == scratch / "file");
}

}  // namespace lambda::client::replicate
