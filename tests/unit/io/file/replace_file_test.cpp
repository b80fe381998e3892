#include "common/io/file/replace_file.h"

#include <sys/stat.h>

#include <span>

#include "tests/support/catch.h"
#include "tests/unit/io/net/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

ByteView bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::size_t entries_of(const Folder& folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder / ""))
        ++count;
    return count;
}

}  // namespace

TEST_CASE("replace_file: new content, and nothing beside it, also after a failure") {
    const Folder folder;
    const std::string file = folder / "file";
    REQUIRE(replace_file(file, bytes_of("one"), 0600).ok());
    CHECK(read_file(file) == "one");
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);

    const auto prepare = [](int fresh) -> Result<void> {
        if (::fchmod(fresh, 0640) == 0) return {};
        return errno_error(Fault::file, "cannot", {}, errno);
    };
    REQUIRE(replace_file(file, bytes_of(std::string(100'000, 'x')), 0600, prepare).ok());
    CHECK(std::filesystem::file_size(file) == 100'000);
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0640);

    const Error no = errno_error(Fault::file, "no", {}, EPERM);
    CHECK_FALSE(
        replace_file(file, bytes_of("y"), 0600, [&](int) -> Result<void> { return no; }).ok());
    std::filesystem::create_directory(folder / "directory");
    CHECK_FALSE(replace_file(folder / "directory", bytes_of("z"), 0600).ok());
    CHECK_FALSE(replace_file(folder / "none/file", bytes_of("z"), 0600).ok());
    CHECK(std::filesystem::file_size(file) == 100'000);
    CHECK(entries_of(folder) == 2);
}
