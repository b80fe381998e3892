// What is told of deletions where the list of the rest cannot be read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/io/tree/target_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

// Of this process: the one that something was written to.
int unlinked_file() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int descriptor = std::stoi(entry.path().filename());
        struct stat status {};
        if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
            status.st_size > 0)
            return descriptor;
    }
    return -1;
}

}  // namespace

TEST_CASE("target: what was deleted is told where the list of the rest cannot be read") {
    constexpr int kFiles = 4000;
    const Folder folder;
    for (int file = 0; file < kFiles; ++file) {
        const std::string digits = std::to_string(file);
        write_file(folder / (std::string(100, 'x') + digits), "x");
    }
    const std::string base = folder / "";
    Asked asked;
    asked.tree.seek_extraneous({}, false);
    asked.look({enter(base, "."), kLeave});
    asked.tree.next_extraneous(false, true);
    std::size_t told = asked.next().list.size();
    CHECK(told > 0);
    const Descriptor unreadable(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::dup2(unreadable.get(), unlinked_file()) >= 0);
    while (true) {
        asked.tree.next_extraneous(false, true);
        const TargetEvent event = asked.next();
        told += event.list.size();
        if (event.list.empty()) {
            CHECK(event.error);
            break;
        }
    }
    CHECK(told + names_in(folder.path()).size() == kFiles);
    CHECK_FALSE(names_in(folder.path()).empty());
}
