#include "common/io/stage/stage.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/base/units.h"
#include "common/io/stage/range_log.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

constexpr std::int64_t kTime = 1'234'567'890'123'456'789;

Stage stage_of(std::uint64_t size, std::uint64_t id = 5) {
    return {.name = "job-1", .source = {.size = size, .mtime_ns = kTime, .id = id}};
}

// A machine's root, and a claim of one range by it.
Result<std::shared_ptr<RangeClaim>> claim(const std::string& target, std::uint64_t size,
                                          Range bytes, std::uint64_t fence = 1) {
    return claim_range(Root::machine(), target, stage_of(size), bytes, fence);
}

// Moves `content` into the claimed range as an engine does.
DiskEvent fill(bool uring, std::shared_ptr<RangeClaim> held, const std::string& content) {
    DiskOptions options;
    options.claim = std::move(held);
    Harness disk(uring, Root::machine(), 64, options);
    options.claim.reset();
    if (content.size() >= ports::kSmallFile) return disk.put("anything", content, 0604);
    std::memcpy(disk.disk->slot(0).data(), content.data(), content.size());
    disk.disk->make_entry(disk.next_tag, {.name = {"anything", {}},
                                          .metadata = {content.size(), kTime, 0604},
                                          .bytes = static_cast<std::uint32_t>(content.size())});
    return disk.one();
}

// Empty: such a claim would be refused.
std::string key(const std::string& target, std::uint64_t size, Range bytes, std::uint64_t fence) {
    const auto found = claim_key(Root::machine(), target, stage_of(size), bytes, fence);
    return found ? *found : std::string();
}

std::vector<Range> done(const std::string& target, std::uint64_t size) {
    return staged_ranges(Root::machine(), target, stage_of(size)).value().ranges();
}

Result<void> finish(const std::string& target, std::uint64_t size) {
    return finish_stage(Root::machine(), target, stage_of(size));
}

}  // namespace

TEST_CASE("stage: ranges in any order become the file, and nothing else is left") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    const std::string target = folder / "below/file";
    const std::string content = random_text(3 * MiB + 12'345, 1);
    for (const Range& range :
         {Range{3 * MiB, content.size()}, Range{MiB, 3 * MiB}, Range{0, MiB}}) {
        CHECK(finish(target, content.size()).error().fault == Fault::file);
        auto held = claim(target, content.size(), range, 1);
        REQUIRE(held.ok());
        const DiskEvent filled =
            fill(uring, *std::move(held), content.substr(range.first, range.length()));
        REQUIRE_FALSE(filled.error);
        REQUIRE_FALSE(std::filesystem::exists(target));
    }
    CHECK(done(target, content.size()) == std::vector<Range>{{0, content.size()}});
    REQUIRE(finish(target, content.size()).ok());
    CHECK(read_file(target) == content);
    CHECK(names_in(folder / "below") == std::vector<std::string>{"file"});
    struct stat status {};
    REQUIRE(::stat(target.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0604);
    CHECK(status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec == kTime);
    // Again: there is nothing to do.
    CHECK(finish(target, content.size()).ok());
    CHECK(done(target, content.size()) == std::vector<Range>{{0, content.size()}});
    CHECK_FALSE(claim(target, content.size(), {0, MiB}, 9).ok());
    CHECK(names_in(folder / "below") == std::vector<std::string>{"file"});
}

// Who can write the log can write any mode into it.
TEST_CASE("stage: a log gives no set-user-ID below a root that has none") {
    const Folder folder;
    const std::string target = "file";
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
    const bool root = ::geteuid() == 0;
    // This thread alone is nobody (setresuid(2)).
    if (root) REQUIRE(::syscall(SYS_setresuid, -1, 65534, 0) == 0);
    const Root jail = Root::jail(folder.path(), false, false).value();
    auto held = claim_range(jail, target, stage_of(MiB), {0, MiB}, 1);
    REQUIRE(held.ok());
    {
        std::string name;
        for (const auto& each : std::filesystem::directory_iterator(folder.path()))
            if (each.path().extension() == ".ranges") name = each.path();
        std::ofstream log(name, std::ios::app);
        log << RangeLog::done_line({.bytes = {0, MiB}, .fence = 1}, 06777);
    }
    held->reset();  // its lock, too
    const auto finished = finish_stage(jail, target, stage_of(MiB));
    if (root) REQUIRE(::syscall(SYS_setresuid, -1, 0, 0) == 0);
    REQUIRE(finished.ok());
    struct stat status {};
    REQUIRE(::stat((folder / target).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0777);
}

TEST_CASE("stage: where the file came another way, what is left of ranges goes") {
    const Folder folder;
    const std::string target = folder / "file";
    REQUIRE(claim(target, MiB, {0, MiB}, 1).ok());
    Harness disk(true);
    REQUIRE_FALSE(disk.put(target, random_text(MiB, 9)).error);
    CHECK(done(target, MiB) == std::vector<Range>{{0, MiB}});
    CHECK(finish(target, MiB).ok());
    CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
}

TEST_CASE("stage: several may finish at once") {
    const Folder folder;
    const std::string target = folder / "file";
    REQUIRE_FALSE(fill(true, *claim(target, MiB, {0, MiB}), random_text(MiB, 8)).error);
    std::vector<std::thread> threads;
    std::atomic<int> finished = 0;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] { finished += finish(target, MiB).ok() ? 1 : 0; });
    for (std::thread& thread : threads) thread.join();
    CHECK(finished == 4);
    CHECK(read_file(target) == random_text(MiB, 8));
    CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
}

TEST_CASE("stage: to look, or to discard, makes nothing") {
    const Folder folder;
    const std::string target = folder / "no/such/file";
    CHECK(done(target, MiB).empty());
    CHECK(discard_stage(Root::machine(), target, stage_of(MiB)).ok());
    CHECK_FALSE(std::filesystem::exists(folder / "no"));
}

TEST_CASE("stage: what the file system refuses leaves nothing") {
    const Folder folder;
    const std::uint64_t size = std::uint64_t{1} << 62;
    CHECK(claim(folder / "file", size, {0, size}).error().fault == Fault::file);
    CHECK(std::filesystem::is_empty(folder / "."));
}

TEST_CASE("stage: a name that transfers keep is no target") {
    const Folder folder;
    for (const char* end : {".part", ".journal", ".parts", ".ranges"}) {
        const std::string target =
            folder / (std::string(".lambda-0123456789abcdef0123456789abcdef") + end);
        CHECK(claim(target, MiB, {0, MiB}).error().fault == Fault::file);
        CHECK(finish(target, MiB).error().fault == Fault::file);
    }
    CHECK(std::filesystem::is_empty(folder / "."));
}

TEST_CASE("stage: one writer for each byte, and each is another's neighbour") {
    const Folder folder;
    const std::string target = folder / "file";
    const auto first = claim(target, 8 * MiB, {0, 4 * MiB}, 1);
    REQUIRE(first.ok());
    CHECK(claim(target, 8 * MiB, {4 * MiB, 8 * MiB}, 1).ok());
    const auto second = claim(target, 8 * MiB, {2 * MiB, 6 * MiB}, 2);
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().fault == Fault::cut);  // it may pass
    CHECK(finish(target, 8 * MiB).error().fault == Fault::file);
    CHECK(discard_stage(Root::machine(), target, stage_of(8 * MiB)).error().fault == Fault::cut);
}

TEST_CASE("stage: only a newer lease takes a range over, and the older one can't end it") {
    const Folder folder;
    const std::string target = folder / "file";
    const std::string content = random_text(MiB, 2);
    REQUIRE(claim(target, 2 * MiB, {0, MiB}, 7).ok());
    for (const std::uint64_t fence : {1, 6, 7}) {
        const auto late = claim(target, 2 * MiB, {0, MiB}, fence);
        REQUIRE_FALSE(late.ok());
        CHECK(late.error().fault == Fault::file);
    }
    auto held = claim(target, 2 * MiB, {0, MiB}, 8);
    REQUIRE(held.ok());
    // Who would be refused ends nobody.
    CHECK(key(target, 2 * MiB, {0, MiB}, 9) == (*held)->key());
    CHECK(key(target, 2 * MiB, {MiB, 2 * MiB}, 1) == (*held)->key());
    CHECK(key(target, 2 * MiB, {0, MiB}, 8).empty());
    CHECK(key(target, 3 * MiB, {0, MiB}, 9).empty());
    CHECK(key(target, 2 * MiB, {1, MiB}, 9).empty());
    REQUIRE_FALSE(fill(true, *std::move(held), content).error);
    CHECK(key(target, 2 * MiB, {0, MiB}, 9).empty());
    // It is done: nobody may write it again.
    CHECK_FALSE(claim(target, 2 * MiB, {0, MiB}, 9).ok());
    CHECK(done(target, 2 * MiB) == std::vector<Range>{{0, MiB}});
}

TEST_CASE("stage: a claim without a fence is above all before, whatever those were") {
    const Folder folder;
    const std::string target = folder / "file";
    constexpr std::uint64_t kAhead = 4'000'000'000'000'000'000;  // a clock that is far ahead
    CHECK(claim(target, 2 * MiB, {0, 2 * MiB}, 0).value()->fence() == 1);
    REQUIRE(claim(target, 2 * MiB, {0, MiB}, kAhead).ok());
    CHECK(claim(target, 2 * MiB, {MiB, 2 * MiB}, 0).value()->fence() == 2);
    auto held = claim(target, 2 * MiB, {0, MiB}, 0);
    REQUIRE(held.ok());
    CHECK((*held)->fence() == kAhead + 1);
    CHECK(claim(target, 2 * MiB, {0, MiB}, 0).error().fault == Fault::cut);
    CHECK(key(target, 2 * MiB, {0, MiB}, 0) == (*held)->key());
    REQUIRE_FALSE(fill(true, *std::move(held), random_text(MiB, 2)).error);
    CHECK(claim(target, 2 * MiB, {0, MiB}, 0).error().fault == Fault::file);
    REQUIRE(claim(target, 2 * MiB, {MiB, 2 * MiB}, UINT64_MAX).ok());
    CHECK(claim(target, 2 * MiB, {MiB, 2 * MiB}, 0).error().fault == Fault::file);
}

TEST_CASE("stage: a range that was cut begins anew, with its holes") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    const std::string target = folder / "file";
    {
        DiskOptions options;
        options.claim = std::move(claim(target, 2 * MiB, {0, 2 * MiB}, 1)).value();
        Harness disk(uring, Root::machine(), 64, options);
        options.claim.reset();
        const DiskEvent opened = disk.create("x", 2 * MiB);
        REQUIRE_FALSE(opened.error);
        std::memset(disk.disk->slot(0).data(), 0xee, kBlock);
        REQUIRE_FALSE(disk.write(opened.file, MiB, MiB).error);
        disk.disk->close(opened.file);
    }
    CHECK(done(target, 2 * MiB).empty());
    {
        DiskOptions options;
        options.claim = std::move(claim(target, 2 * MiB, {0, 2 * MiB}, 2)).value();
        Harness disk(uring, Root::machine(), 64, options);
        options.claim.reset();
        const DiskEvent opened = disk.create("x", 2 * MiB);
        std::memset(disk.disk->slot(0).data(), 0x11, kBlock);
        REQUIRE_FALSE(disk.write(opened.file, 0, MiB).error);
        REQUIRE_FALSE(disk.commit(opened.file, {2 * MiB, kTime, 0600}).error);
    }
    REQUIRE(finish(target, 2 * MiB).ok());
    CHECK(read_file(target) == std::string(MiB, '\x11') + std::string(MiB, '\0'));
    struct stat status {};
    REQUIRE(::stat(target.c_str(), &status) == 0);
    CHECK(status.st_blocks * 512 < static_cast<long>(2 * MiB));
}

TEST_CASE("stage: what is written is the claimed range alone") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    const std::string target = folder / "file";
    const std::string end = random_text(100'001, 3);
    const std::uint64_t size = MiB + end.size();
    REQUIRE_FALSE(fill(uring, *claim(target, size, {MiB, size}), end).error);
    // A target of another size, a second one, and what is no file.
    CHECK(fill(uring, *claim(target, size, {0, MiB}, 1), random_text(MiB - 1, 1)).error);
    DiskOptions options;
    options.claim = std::move(claim(target, size, {0, MiB}, 2)).value();
    Harness disk(uring, Root::machine(), 64, options);
    options.claim.reset();
    disk.disk->make_entry(disk.next_tag,
                          {.kind = ports::Making::Kind::directory, .name = {folder / "made", {}}});
    CHECK(disk.one().error);
    CHECK(disk.create(folder / "other", MiB).error);
    disk.disk.reset();
    // And of another source than was claimed.
    {
        DiskOptions again;
        again.claim = std::move(claim(target, size, {0, MiB}, 3)).value();
        Harness changed(uring, Root::machine(), 64, again);
        again.claim.reset();
        const DiskEvent opened = changed.create("x", MiB);
        REQUIRE_FALSE(opened.error);
        CHECK(changed.commit(opened.file, {MiB, kTime + 1, 0600}).error);
    }
    REQUIRE_FALSE(fill(uring, *claim(target, size, {0, MiB}, 4), std::string(MiB, 'a')).error);
    REQUIRE(finish(target, size).ok());
    CHECK(read_file(target) == std::string(MiB, 'a') + end);
    CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
}

TEST_CASE("stage: ranges that do not fit the file are refused") {
    const Folder folder;
    const std::string target = folder / "file";
    const std::uint64_t size = 4 * MiB + 1;
    for (const Range& range : {Range{0, 0}, Range{1, MiB}, Range{0, MiB + 1}, Range{2 * MiB, MiB},
                               Range{4 * MiB, size + 1}, Range{5 * MiB, 6 * MiB},
                               Range{0, kToTheEnd}, Range{kToTheEnd - 1, kToTheEnd}}) {
        CHECK_FALSE(claim(target, size, range).ok());
    }
    CHECK_FALSE(claim(target, kToTheEnd, {0, MiB}).ok());
    CHECK_FALSE(claim(folder.path(), size, {0, MiB}).ok());
    CHECK_FALSE(claim(folder / "new/", size, {0, MiB}).ok());
    CHECK_FALSE(
        claim_range(Root::machine(), target, {.name = "a/b", .source = {.size = size}}, {0, MiB}, 1)
            .ok());
    CHECK(names_in(folder.path()).empty());
}

TEST_CASE("stage: another source of the same name is refused, and begins once it was discarded") {
    const Folder folder;
    const std::string target = folder / "file";
    REQUIRE(claim(target, 2 * MiB, {0, MiB}, 5).ok());
    CHECK(claim(target, 3 * MiB, {0, MiB}, 6).error().fault == Fault::file);
    CHECK_FALSE(claim_range(Root::machine(), target, stage_of(2 * MiB, 6), {0, MiB}, 6).ok());
    // Who does not know the inode, does not compare it.
    CHECK(claim_range(Root::machine(), target, stage_of(2 * MiB, 0), {0, MiB}, 6).ok());
    CHECK_FALSE(staged_ranges(Root::machine(), target, stage_of(3 * MiB)).ok());
    REQUIRE(discard_stage(Root::machine(), target, stage_of(3 * MiB)).ok());
    CHECK(names_in(folder.path()).empty());
    CHECK(discard_stage(Root::machine(), target, stage_of(3 * MiB)).ok());
    CHECK(claim(target, 3 * MiB, {0, MiB}, 1).ok());
}

TEST_CASE("stage: without its log, or the log without its file, all begins anew") {
    const Folder folder;
    const std::string target = folder / "file";
    const std::string content = random_text(2 * MiB, 4);
    const auto lose = [&](const std::string& end) {
        for (const std::string& name : names_in(folder.path()))
            if (name.ends_with(end)) std::filesystem::remove(folder / name);
    };
    for (const std::string& lost : {std::string(".parts"), std::string(".ranges")}) {
        REQUIRE_FALSE(
            fill(true, *claim(target, 2 * MiB, {0, MiB}, 1), content.substr(0, MiB)).error);
        lose(lost);
        CHECK(done(target, 2 * MiB).empty());
        CHECK_FALSE(finish(target, 2 * MiB).ok());
        REQUIRE_FALSE(
            fill(true, *claim(target, 2 * MiB, {MiB, 2 * MiB}, 1), content.substr(MiB)).error);
        CHECK(done(target, 2 * MiB) == std::vector<Range>{{MiB, 2 * MiB}});
        CHECK_FALSE(finish(target, 2 * MiB).ok());
        REQUIRE(discard_stage(Root::machine(), target, stage_of(2 * MiB)).ok());
    }
}

TEST_CASE("stage: a planted link or second name is no staging file") {
    const Folder folder;
    const std::string target = folder / "file";
    REQUIRE(claim(target, 2 * MiB, {0, MiB}, 1).ok());
    write_file(folder / "secret", "x");
    for (const std::string& name : names_in(folder.path())) {
        if (!ports::is_partial_name(name)) continue;
        std::filesystem::rename(folder / name, folder / "kept");
        std::filesystem::create_symlink("secret", folder / name);
        CHECK_FALSE(claim(target, 2 * MiB, {0, MiB}, 2).ok());
        std::filesystem::remove(folder / name);
        std::filesystem::create_hard_link(folder / "secret", folder / name);
        CHECK_FALSE(claim(target, 2 * MiB, {0, MiB}, 2).ok());
        std::filesystem::remove(folder / name);
        std::filesystem::rename(folder / "kept", folder / name);
    }
    CHECK(read_file(folder / "secret") == "x");
    CHECK(claim(target, 2 * MiB, {0, MiB}, 2).ok());
}

TEST_CASE("stage: a jail holds, and a reader writes nothing") {
    const Folder folder;
    std::filesystem::create_directories(folder / "root/a");
    std::filesystem::create_symlink("..", folder / "root/out");
    const Root jail = std::move(Root::jail(folder / "root", false, false)).value();
    for (const std::string& target : {std::string("../file"), std::string("out/file"),
                                      std::string("/../file"), std::string("a/../../file")}) {
        CHECK_FALSE(claim_range(jail, target, stage_of(MiB), {0, MiB}, 1).ok());
        CHECK_FALSE(claim_key(jail, target, stage_of(MiB), {0, MiB}, 1).ok());
        CHECK_FALSE(finish_stage(jail, target, stage_of(MiB)).ok());
        CHECK_FALSE(discard_stage(jail, target, stage_of(MiB)).ok());
    }
    const Root reader = std::move(Root::jail(folder / "root", true, false)).value();
    CHECK_FALSE(claim_range(reader, "file", stage_of(MiB), {0, MiB}, 1).ok());
    CHECK_FALSE(finish_stage(reader, "file", stage_of(MiB)).ok());
    CHECK(names_in(folder / "root") == std::vector<std::string>{"a", "out"});
    CHECK(names_in(folder.path()) == std::vector<std::string>{"root"});
}

TEST_CASE("disk: a range of a source is a file of its own") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    const std::string content = random_text(3 * MiB + 777, 5);
    write_file(folder / "file", content);
    for (const Range& range : {Range{0, MiB}, Range{MiB, 3 * MiB}, Range{1'000'001, 2'345'678},
                               Range{3 * MiB, kToTheEnd}, Range{3 * MiB + 700, kToTheEnd},
                               Range{5, 6}, Range{MiB - 4096, 3 * MiB + 777}}) {
        DiskOptions options;
        options.range = FileRange{.bytes = range, .version = {}};
        Harness disk(uring, Root::machine(), 64, options);
        CHECK(disk.get(folder / "file") ==
              content.substr(range.first, std::min(range.last, content.size()) - range.first));
    }
}

TEST_CASE("disk: a range of a source that changed, or is too short, is refused") {
    const Folder folder;
    write_file(folder / "file", random_text(2 * MiB, 6));
    struct stat status {};
    REQUIRE(::stat((folder / "file").c_str(), &status) == 0);
    const std::int64_t mtime = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    const FileVersion now{.size = 2 * MiB, .mtime_ns = mtime, .id = status.st_ino};
    const auto open = [&](const FileRange& range) {
        DiskOptions options;
        options.range = range;
        Harness disk(true, Root::machine(), 64, options);
        const DiskEvent opened = disk.open(folder / "file");
        if (!opened.error && opened.size >= ports::kSmallFile) {
            CHECK_FALSE([&] {
                disk.disk->check_source(disk.next_tag, opened.file);
                return disk.one().error.has_value();
            }());
            std::filesystem::resize_file(folder / "file", 2 * MiB + 1);
            disk.disk->check_source(disk.next_tag, opened.file);
            CHECK(disk.one().error);
        }
        return opened.error.has_value();
    };
    CHECK(open({.bytes = {2 * MiB, kToTheEnd}, .version = {}}));
    FileVersion other = now;
    ++other.mtime_ns;
    CHECK(open({.bytes = {0, MiB}, .version = other}));
    other = now;
    ++other.id;
    CHECK(open({.bytes = {0, MiB}, .version = other}));
    CHECK_FALSE(open({.bytes = {0, MiB}, .version = now}));
    CHECK(open({.bytes = {0, MiB}, .version = now}));  // it has grown since
}

TEST_CASE("disk: holes of a range stay holes") {
    const Folder folder;
    write_file(folder / "file", std::string(MiB, 'x'));
    std::filesystem::resize_file(folder / "file", 8 * MiB);
    const auto data = [&](Range bytes) {
        DiskOptions options;
        options.range = FileRange{.bytes = bytes, .version = {}};
        Harness disk(true, Root::machine(), 64, options);
        const DiskEvent opened = disk.open(folder / "file");
        REQUIRE_FALSE(opened.error);
        return std::pair(opened.data, opened.content.has_value());
    };
    CHECK(data({0, 4 * MiB}).first == std::vector<Range>{{0, MiB}});
    CHECK(data({MiB / 2, 4 * MiB}).first == std::vector<Range>{{0, MiB}});
    CHECK(data({4 * MiB, 8 * MiB}).first.empty());
    CHECK(data({8 * MiB - 10, 8 * MiB}) == std::pair(std::vector<Range>{}, true));
}
