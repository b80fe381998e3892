#include "common/io/disk/flusher.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/io/net/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

constexpr uid_t kNobody = 65534;

// A file that stands there and is not opened.
std::shared_ptr<const TargetDirectories::Directory> directory(const std::string& path) {
    auto made = std::make_shared<TargetDirectories::Directory>();
    made->opened = Descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    REQUIRE(::fstat(made->opened.get(), &status) == 0);
    made->device = status.st_dev;
    return made;
}

}  // namespace

TEST_CASE("flusher: a directory that cannot be read does not fail what lies in others") {
    const Folder folder;
    for (const char* name : {"closed", "open"})
        REQUIRE(std::filesystem::create_directory(folder / name));
    const bool root = ::geteuid() == 0;
    std::vector<Made> named;
    // More than are flushed one by one; the first lies in the closed one.
    for (std::size_t i = 0; i <= Flusher::kFewestShared; ++i) {
        const std::string where = i == 0 ? "closed" : "open";
        const std::string leaf = std::to_string(i);
        const std::string path = folder / (where + "/" + leaf);
        write_file(path, "x");
        Made made;
        made.directory = directory(folder / where);
        made.device = made.directory->device;
        made.stays = true;
        made.leaf = leaf;
        named.push_back(std::move(made));
        REQUIRE(::chmod(path.c_str(), i == 0 ? 0200 : 0644) == 0);
        if (root) REQUIRE(::chown(path.c_str(), kNobody, kNobody) == 0);
    }
    REQUIRE(::chmod((folder / "closed").c_str(), 0311) == 0);
    if (root) {
        for (const std::string& path : {folder.path(), folder / "closed", folder / "open"})
            REQUIRE(::chown(path.c_str(), kNobody, kNobody) == 0);
        ::setfsuid(kNobody);
    }
    const Flusher::Outcome outcome = Flusher().flush({}, named);
    if (root) ::setfsuid(0);
    CHECK(outcome.named == std::vector<int>(named.size(), 0));
    REQUIRE(::chmod((folder / "closed").c_str(), 0755) == 0);
}
