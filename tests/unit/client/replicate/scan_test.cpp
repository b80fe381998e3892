// What the sources hold that stand here.
#include "client/replicate/scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/io/file/root.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client::replicate {
namespace {

TEST_CASE("a further name of a file is listed, or missed where it cannot be looked at") {
    constexpr int kWays = O_PATH | O_DIRECTORY | O_CLOEXEC;
    const Scratch scratch;
    io::Descriptor at(::open((scratch / "").c_str(), kWays));
    const auto link_here = [&](const std::string& one, const std::string& other) {
        const io::Descriptor file(
            ::openat(at.get(), one.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        REQUIRE(file);
        REQUIRE(::linkat(at.get(), one.c_str(), at.get(), other.c_str(), 0) == 0);
    };
    link_here("one", "other");
    // Names in the tree may have 4,096 bytes, which the walk takes step by step; no path has so
    // many.
    const std::string step(199, 'd');
    for (int i = 0; i < 20; ++i) {
        REQUIRE(::mkdirat(at.get(), step.c_str(), 0700) == 0);
        at = io::Descriptor(::openat(at.get(), step.c_str(), kWays));
        REQUIRE(at);
    }
    link_here(std::string(90, 'a'), std::string(90, 'b'));
    Job job;
    job.roots = {{.text = {}, .path = scratch / "", .name = "."}};
    const auto listing = scan_here(job);
    REQUIRE(listing.ok());
    const auto files =
        std::count_if(listing->entries.begin(), listing->entries.end(),
                      [](const Entry& entry) { return entry.standing.kind == Kind::file; });
    CHECK(files == 3);
    REQUIRE(listing->missed.size() == 1);
    CHECK(listing->missed[0].name.size() == 4090);
    CHECK(listing->missed[0].error.error_number == ENAMETOOLONG);
}

}  // namespace
}  // namespace lambda::client::replicate
