// The file of a trial of the disk.
#include <fcntl.h>

#include <filesystem>
#include <iostream>

#include "client/trial/disk.h"
#include "common/io/file/page_cache.h"
#include "common/io/file/storage.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client {

TEST_CASE("trial: its file lies on the disk alone, or the page cache would be tried") {
    constexpr std::uint64_t kSize = 8 << 20;
    const Scratch scratch;
    auto made = TrialFile::make(scratch / "", kSize);
    REQUIRE(made);
    const io::Descriptor file(::open(made->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (io::storage_of(file) == io::Storage::memory) {
        std::cerr << "a trial's file: SKIPPED: files live in memory here\n";
        return;
    }
    CHECK_FALSE(io::mostly_cached(file.get(), {0, kSize}));
}

TEST_CASE("trial: of a file that the disk has no room for nothing is written") {
    const Scratch scratch;
    const auto made = TrialFile::make(scratch / "", std::uint64_t{1} << 60);
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().fault == Fault::file);
    CHECK(std::filesystem::is_empty(scratch / ""));
}

}  // namespace lambda::client
