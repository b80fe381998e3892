// What goes wrong at a target while it is compared.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tests/unit/io/tree/target_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

// Else the change would be hidden from each later quick check.
TEST_CASE("target: what was written to since it was looked at keeps its time") {
    const Folder folder;
    const std::string path = folder / "f";
    write_file(path, "five!");
    Asked asked;
    const auto stood = asked.look({at(folder / "", "f")}).standings.at(0).metadata;
    const ports::FileMetadata wanted{5, 1'234'567'890'123'456'789, 0640};
    const timespec later[2] = {{0, UTIME_OMIT}, {1'700'000'000, 1}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), later, 0) == 0);
    for (const ports::TargetName& target :
         {ports::TargetName{folder / "", "f"}, ports::TargetName{path, ""}}) {
        asked.tree.mend(1, target, wanted, stood.mtime_ns);
        const TargetEvent written = asked.next();
        REQUIRE(written.error);
        CHECK(written.error->message == "the file changed while it was compared");
        asked.tree.mend(2, target, {6, wanted.mtime_ns, wanted.mode}, mtime_of(path));
        CHECK(asked.next().error);
    }
    CHECK(mtime_of(path) == 1'700'000'000'000'000'001);
    asked.tree.mend(3, {folder / "", "f"}, wanted, mtime_of(path));
    CHECK_FALSE(asked.next().error);
    CHECK(mtime_of(path) == wanted.mtime_ns);
}

// It would only be held in memory.
TEST_CASE("target: once the list of what is extraneous has no room, nothing more is listed") {
    const Folder folder;
    constexpr std::size_t kFiles = 400;
    for (std::size_t i = 0; i < kFiles; ++i)
        write_file(folder / (std::string(200, 'n') + std::to_string(i)), "");
    Asked asked;
    asked.tree.seek_extraneous({}, false);
    const auto on_excess = ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit none{0, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
    const TargetEvent looked = asked.look({enter(folder / "", "."), kLeave});
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, on_excess);
    REQUIRE(looked.error);
    CHECK(looked.error->path == "TMPDIR");
    CHECK(asked.tree.extraneous() > 0);
    CHECK(asked.tree.extraneous() < kFiles);
}
