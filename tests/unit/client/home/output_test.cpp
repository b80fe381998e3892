#include <sys/stat.h>
#include <unistd.h>

#include "client/home/home.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

namespace {

struct stat status_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status;
}

}  // namespace

TEST_CASE("an output has the mode of what it replaces, and a new one what the umask leaves") {
    const Scratch scratch;
    const std::string file = scratch / "output";
    const mode_t before = ::umask(027);
    REQUIRE(write_output(file, "one").ok());
    CHECK((status_of(file).st_mode & 07777) == 0640);
    REQUIRE(::chmod(file.c_str(), 0604) == 0);
    REQUIRE(write_output(file, "two").ok());
    CHECK((status_of(file).st_mode & 07777) == 0604);
    REQUIRE(write_output(scratch / "own", "three", 0600).ok());
    CHECK((status_of(scratch / "own").st_mode & 07777) == 0600);
    ::umask(before);
}

TEST_CASE("an output keeps owner and group where this user may give them") {
    if (::geteuid() != 0) return;
    const Scratch scratch;
    const std::string file = scratch / "output";
    REQUIRE(write_output(file, "one").ok());
    REQUIRE(::chown(file.c_str(), 65534, 12345) == 0);
    REQUIRE(::chmod(file.c_str(), 0660) == 0);
    REQUIRE(write_output(file, "two").ok());
    const struct stat status = status_of(file);
    CHECK(status.st_uid == 65534);
    CHECK(status.st_gid == 12345);
    CHECK((status.st_mode & 07777) == 0660);
}
