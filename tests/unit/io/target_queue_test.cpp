// Many targets, where the process may open few files.
#include "common/io/target_queue.h"

#include <sys/resource.h>

#include "tests/unit/io/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

class FewFiles {
  public:
    explicit FewFiles(rlim_t count) {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const rlimit few{count, before_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    }
    FewFiles(const FewFiles&) = delete;
    FewFiles& operator=(const FewFiles&) = delete;
    ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

constexpr std::uint64_t kBytes = 66'000;

// Creates `count` of them at once, and commits or closes each once it is there.
std::vector<DiskEvent> make_all(Harness& disk, const std::string& folder, std::size_t count,
                                bool commit) {
    for (std::size_t i = 0; i < count; ++i)
        disk.disk->create_target(i, {folder, "f" + std::to_string(i)}, kBytes, {}, {});
    std::vector<DiskEvent> events;
    std::size_t handled = 0;
    disk.wait_until([&](const std::vector<DiskEvent>& all) {
        for (; handled < all.size(); ++handled) {
            const DiskEvent& event = all[handled];
            if (event.tag >= count || event.error) continue;
            if (commit) {
                disk.disk->commit(count + event.tag, event.file, {kBytes, 0, 0640});
            } else {
                disk.disk->close(event.file);
            }
        }
        events = all;
        return all.size() >= (commit ? 2 * count : count);
    });
    return events;
}

}  // namespace

TEST_CASE("targets: more at once than the process may open wait for each other") {
    const bool commit = GENERATE(true, false);
    const Folder folder;
    const FewFiles few(320);
    {
        Harness disk(true);
        for (const DiskEvent& event : make_all(disk, folder.path(), 600, commit))
            CHECK_FALSE(event.error);
    }
    CHECK(names_in(folder.path()).size() == (commit ? 600 : 0));
}

TEST_CASE("targets: those in hand of one disk hold up none of another, nor fresh ones kept ones") {
    const Folder folder;
    const FewFiles few(1024);
    constexpr std::size_t kMany = TargetQueue::kSure + 10;
    Harness full(true);
    const ports::Disk::Keep keep = [](ByteView) { return true; };
    for (std::size_t i = 0; i < 2 * kMany; ++i) {
        const bool fresh = i % 2 == 0;
        full.disk->create_target(i, {folder.path(), "full" + std::to_string(i)}, kBytes, {},
                                 fresh ? ports::Disk::Keep{} : keep);
    }
    std::size_t fresh = 0;
    for (const DiskEvent& event : full.wait_for(2 * TargetQueue::kSure)) {
        CHECK_FALSE(event.error);
        if (event.tag % 2 == 0) ++fresh;
    }
    CHECK(fresh == TargetQueue::kSure);
    Harness other(true);
    CHECK_FALSE(other.put(folder / "other", random_text(kBytes, 1)).error);
}
