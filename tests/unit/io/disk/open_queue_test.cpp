// Many files, where the process may open few.
#include "common/io/disk/open_queue.h"

#include <fcntl.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "common/io/process.h"
#include "tests/support/few_files.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;
using lambda::testing::FewFiles;

namespace {

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

TEST_CASE("targets: those in hand leave the spare files alone") {
    constexpr std::size_t kSpare = 60;
    const Folder folder;
    const FewFiles few(320);
    keep_files_spare(kSpare);
    std::size_t refused = 0, left = 0;
    {
        std::array<Harness, 3> disks{Harness(true), Harness(true), Harness(true)};
        char name = 'a';
        for (Harness& disk : disks) {
            for (std::size_t i = 0; i < OpenQueue::kSureTargets; ++i)
                disk.disk->create_target(i, {folder.path(), name + std::to_string(i)}, kBytes, {},
                                         {});
            ++name;
            for (const DiskEvent& event : disk.wait_for(OpenQueue::kSureTargets)) {
                if (!event.error) continue;
                ++refused;
                CHECK(event.error->message.find("Too many open files") != std::string::npos);
            }
        }
        std::vector<Descriptor> more;
        while (more.empty() || more.back()) more.emplace_back(::open("/dev/null", O_RDONLY));
        left = more.size() - 1;
    }
    keep_files_spare(0);
    CHECK(refused > 0);
    CHECK(left > kSpare / 2);
}

TEST_CASE("targets: those in hand of one disk hold up none of another, nor fresh ones kept ones") {
    const Folder folder;
    const FewFiles few(1024);
    constexpr std::size_t kMany = OpenQueue::kSureTargets + 10;
    Harness full(true);
    const ports::Disk::Keep keep = [](ByteView) { return true; };
    for (std::size_t i = 0; i < 2 * kMany; ++i) {
        const bool fresh = i % 2 == 0;
        full.disk->create_target(i, {folder.path(), "full" + std::to_string(i)}, kBytes, {},
                                 fresh ? ports::Disk::Keep{} : keep);
    }
    std::size_t fresh = 0;
    for (const DiskEvent& event : full.wait_for(2 * OpenQueue::kSureTargets)) {
        CHECK_FALSE(event.error);
        if (event.tag % 2 == 0) ++fresh;
    }
    CHECK(fresh == OpenQueue::kSureTargets);
    Harness other(true);
    CHECK_FALSE(other.put(folder / "other", random_text(kBytes, 1)).error);
}

TEST_CASE("sources: more at once than the process may open wait until others are closed") {
    constexpr std::size_t kMany = 400;
    const Folder folder;
    for (std::size_t i = 0; i < kMany; ++i)
        std::ofstream(folder / ("f" + std::to_string(i)))
            << random_text(i % 2 == 0 ? 10 : kBytes, 1);
    const FewFiles few(128);
    Harness disk(true);
    for (std::size_t i = 0; i < kMany; ++i)
        disk.disk->open_source(i, {.path = folder / ("f" + std::to_string(i))}, kBytes);
    std::size_t opened = 0;
    disk.wait_until([&](const std::vector<DiskEvent>& all) {
        for (; opened < all.size(); ++opened) {
            REQUIRE_FALSE(all[opened].error);
            if (!all[opened].content) disk.disk->close(all[opened].file);
        }
        return opened == kMany;
    });
    CHECK(opened == kMany);
}
