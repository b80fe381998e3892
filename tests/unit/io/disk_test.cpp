#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "common/base/units.h"
#include "common/io/machine.h"
#include "common/io/open_file.h"
#include "tests/support/catch.h"
#include "tests/unit/io/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;
using namespace std::chrono_literals;
using ports::DiskEvent;

namespace {

constexpr std::uint32_t kBlock = 1 << 20;
constexpr std::uint64_t kGrain = 1 << 20;

// A disk that is asked one thing at a time.
struct Harness {
    std::unique_ptr<Reactor> reactor = std::move(Reactor::make().value());
    std::unique_ptr<ports::Disk> disk;
    ports::DiskTag next_tag = 1;

    explicit Harness(bool uring, Root root = Root::machine(), unsigned depth = 64) {
        DiskOptions options;
        options.memory_bytes = 8 * kBlock;
        options.block_bytes = kBlock;
        options.queue_depth = depth;
        options.allow_uring = uring;
        disk = std::move(make_disk(options, std::move(root), *reactor).value());
    }

    std::vector<DiskEvent> wait_for(std::size_t count) {
        std::vector<DiskEvent> events;
        const Time limit = Clock().now() + 20s;
        disk->submit();
        while (events.size() < count && Clock().now() < limit) {
            for (const DiskEvent& event : disk->poll()) events.push_back(event);
            disk->submit();
            if (events.size() < count) reactor->wait(limit);
        }
        REQUIRE(events.size() == count);
        return events;
    }
    DiskEvent one() {
        DiskEvent event = wait_for(1)[0];
        CHECK(event.tag == next_tag);
        ++next_tag;
        return event;
    }
    DiskEvent open(const std::string& path, std::uint64_t grain = kGrain) {
        disk->open_source(next_tag, path, grain);
        return one();
    }
    DiskEvent create(const std::string& path, std::uint64_t size) {
        disk->create_target(next_tag, path, size);
        return one();
    }
    DiskEvent write(ports::DiskFile file, std::uint64_t offset, std::size_t bytes,
                    std::size_t at = 0) {
        REQUIRE(disk->write(next_tag, file, offset, 0, at, bytes));
        return one();
    }
    DiskEvent read(ports::DiskFile file, std::uint64_t offset, std::size_t bytes,
                   std::size_t at = 0) {
        REQUIRE(disk->read(next_tag, file, offset, 0, at, bytes));
        return one();
    }
    DiskEvent commit(ports::DiskFile file, const ports::FileMetadata& metadata) {
        disk->commit(next_tag, file, metadata);
        return one();
    }
    // As an engine does: block after block, the rest of a block filled with rubbish.
    DiskEvent put(const std::string& path, const std::string& content, mode_t mode = 0640) {
        const DiskEvent created = create(path, content.size());
        if (created.error) return created;
        for (std::size_t offset = 0; offset < content.size(); offset += kBlock) {
            const std::size_t bytes = std::min<std::size_t>(kBlock, content.size() - offset);
            std::memset(disk->slot(0).data(), 0xaa, kBlock);
            std::memcpy(disk->slot(0).data(), content.data() + offset, bytes);
            const DiskEvent written = write(created.file, offset, bytes);
            if (written.error) {
                disk->close(created.file);
                return written;
            }
            CHECK(written.bytes == bytes);
        }
        return commit(created.file, {content.size(), 1'234'567'890'123'456'789, mode});
    }
    std::string get(const std::string& path) {
        const DiskEvent opened = open(path);
        REQUIRE_FALSE(opened.error);
        std::string content;
        for (std::size_t offset = 0; offset < opened.size; offset += kBlock) {
            const std::size_t bytes = std::min<std::size_t>(kBlock, opened.size - offset);
            const DiskEvent got = read(opened.file, offset, bytes);
            REQUIRE_FALSE(got.error);
            CHECK(got.bytes == bytes);
            content.append(reinterpret_cast<const char*>(disk->slot(0).data()), got.bytes);
        }
        disk->close(opened.file);
        return content;
    }
};

std::string random_text(std::size_t bytes, unsigned seed) {
    std::mt19937 random(seed);
    std::string out(bytes, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
}

// Its contents must not depend on where the machine keeps its files: in memory, and on a disk.
std::string folder_root() {
    return GENERATE(as<std::string>{}, "/tmp", "/dev/shm");
}

}  // namespace

TEST_CASE("disk: files of every size are written and read back, with mode and time") {
    const bool uring = GENERATE(true, false);
    const Folder folder(folder_root());
    Harness disk(uring);
    INFO(disk_engine(*disk.disk) << " in " << folder.path());
    for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 65535u, 65536u, 65537u, kBlock - 1,
                                   kBlock, kBlock + 1, 3 * kBlock + 4097}) {
        CAPTURE(size);
        const std::string content = random_text(size, static_cast<unsigned>(size));
        const std::string path = folder / "deep/er/file";
        const DiskEvent committed = disk.put(path, content);
        REQUIRE_FALSE(committed.error);
        CHECK(read_file(path) == content);
        struct stat status {};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        CHECK((status.st_mode & 07777) == 0640);
        CHECK(status.st_mtim.tv_sec == 1'234'567'890);
        CHECK(status.st_mtim.tv_nsec == 123'456'789);
        CHECK(disk.get(path) == content);
        const DiskEvent opened = disk.open(path);
        CHECK(opened.size == size);
        CHECK(opened.mode == 0640);
        CHECK(opened.mtime_ns == 1'234'567'890'123'456'789);
        CHECK(opened.data.size() == (size > 0 ? 1 : 0));
        disk.disk->close(opened.file);
    }
    CHECK(names_in(folder / "deep/er") == std::vector<std::string>{"file"});
}

TEST_CASE("disk: many requests in flight, in any order, to a bounded queue") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness disk(uring, Root::machine(), 8);
    const std::string content = random_text(7 * kBlock + 300, 7);
    const DiskEvent target = disk.create(folder / "file", content.size());
    for (std::uint32_t slot = 8; slot-- > 0;) {
        const std::size_t bytes = std::min<std::size_t>(kBlock, content.size() - slot * kBlock);
        std::memcpy(disk.disk->slot(slot).data(), content.data() + slot * kBlock, bytes);
        CHECK(disk.disk->write(100 + slot, target.file, slot * kBlock, slot, 0, bytes));
    }
    CHECK_FALSE(disk.disk->write(99, target.file, 0, 0, 0, 1));
    std::vector<ports::DiskTag> tags;
    for (const DiskEvent& event : disk.wait_for(8)) {
        CHECK_FALSE(event.error);
        tags.push_back(event.tag);
    }
    std::sort(tags.begin(), tags.end());
    CHECK((tags.front() == 100 && tags.back() == 107));
    CHECK_FALSE(disk.commit(target.file, {content.size(), 0, 0600}).error);
    CHECK(read_file(folder / "file") == content);

    const DiskEvent source = disk.open(folder / "file");
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
        std::memset(disk.disk->slot(slot).data(), 0, kBlock);
        const std::size_t bytes = std::min<std::size_t>(kBlock, content.size() - slot * kBlock);
        CHECK(disk.disk->read(200 + slot, source.file, slot * kBlock, slot, 0, bytes));
    }
    for (const DiskEvent& event : disk.wait_for(8)) CHECK_FALSE(event.error);
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
        const std::size_t bytes = std::min<std::size_t>(kBlock, content.size() - slot * kBlock);
        CHECK(std::memcmp(disk.disk->slot(slot).data(), content.data() + slot * kBlock, bytes) ==
              0);
    }
    disk.disk->close(source.file);
}

TEST_CASE("disk: pieces at odd places touch nothing beside them") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness disk(uring);
    std::string content = random_text(2 * kBlock + 17, 11);
    REQUIRE_FALSE(disk.put(folder / "file", content).error);
    const DiskEvent source = disk.open(folder / "file");
    for (const auto& [offset, bytes, at] : {std::array<std::size_t, 3>{4096, 1000, 4096},
                                            {1, 4096, 0},
                                            {0, 4097, 3},
                                            {kBlock, 8192, 512},
                                            {4096, 1000, 0}}) {
        CAPTURE(offset, bytes, at);
        std::memset(disk.disk->slot(0).data(), 0x55, kBlock);
        CHECK(disk.read(source.file, offset, bytes, at).bytes == bytes);
        const ByteSpan slot = disk.disk->slot(0);
        CHECK(std::memcmp(slot.data() + at, content.data() + offset, bytes) == 0);
        const auto beside = [&](std::byte b) { return b != std::byte{0x55}; };
        CHECK(std::none_of(slot.begin(), slot.begin() + static_cast<std::ptrdiff_t>(at), beside));
        CHECK(std::none_of(slot.begin() + static_cast<std::ptrdiff_t>(at + bytes), slot.end(),
                           beside));
    }
    // Past the end: what there is.
    CHECK(disk.read(source.file, 2 * kBlock, 4096).bytes == 17);
    CHECK(disk.read(source.file, 2 * kBlock + 4096, 4096).bytes == 0);
    disk.disk->close(source.file);

    const DiskEvent target = disk.create(folder / "pieces", content.size());
    for (std::size_t offset = 0; offset < content.size();) {
        const std::size_t bytes = std::min<std::size_t>(50'001, content.size() - offset);
        std::memcpy(disk.disk->slot(0).data() + 100, content.data() + offset, bytes);
        CHECK_FALSE(disk.write(target.file, offset, bytes, 100).error);
        offset += bytes;
    }
    CHECK_FALSE(disk.commit(target.file, {content.size(), 0, 0600}).error);
    CHECK(read_file(folder / "pieces") == content);
}

TEST_CASE("disk: holes are found in whole grains and kept") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness disk(uring);
    const std::string path = folder / "sparse";
    {
        const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
        REQUIRE(::ftruncate(file.get(), 40 * kBlock + 5) == 0);
        REQUIRE(::pwrite(file.get(), "x", 1, 3 * kBlock + 100) == 1);
        REQUIRE(::pwrite(file.get(), "y", 1, 5 * kBlock - 1) == 1);
        REQUIRE(::pwrite(file.get(), "z", 1, 20 * kBlock) == 1);
    }
    const DiskEvent opened = disk.open(path);
    REQUIRE_FALSE(opened.error);
    CHECK(opened.data == std::vector<Range>{{3 * kBlock, 5 * kBlock}, {20 * kBlock, 21 * kBlock}});
    disk.disk->close(opened.file);

    REQUIRE(::truncate(path.c_str(), 0) == 0);
    REQUIRE(::truncate(path.c_str(), 7) == 0);
    const DiskEvent hollow = disk.open(path);
    CHECK(hollow.data.empty());
    disk.disk->close(hollow.file);
    write_file(path, "tail");
    const DiskEvent tail = disk.open(path);
    CHECK(tail.data == std::vector<Range>{{0, 4}});
    disk.disk->close(tail.file);

    // Nothing written but one block: the rest of the target is a hole too.
    const DiskEvent target = disk.create(folder / "out", 64 * kBlock);
    std::memset(disk.disk->slot(0).data(), 1, kBlock);
    CHECK_FALSE(disk.write(target.file, 8 * kBlock, kBlock).error);
    CHECK_FALSE(disk.commit(target.file, {64 * kBlock, 0, 0600}).error);
    struct stat status {};
    REQUIRE(::stat((folder / "out").c_str(), &status) == 0);
    CHECK(status.st_size == 64 * kBlock);
    CHECK(status.st_blocks * 512 < 4 * kBlock);
}

TEST_CASE("disk: a second look sees what changed") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness disk(uring);
    write_file(folder / "file", "12345");
    const DiskEvent opened = disk.open(folder / "file");
    write_file(folder / "file", "123");
    disk.disk->check_source(disk.next_tag, opened.file);
    const DiskEvent again = disk.one();
    CHECK(again.size == 3);
    CHECK(disk.read(opened.file, 0, 5).bytes == 3);
    disk.disk->close(opened.file);
}

TEST_CASE("disk: what is no regular file is no source, and says why") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness disk(uring);
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    for (const std::string& path : {folder.path(), folder / "pipe", std::string("/dev/null"),
                                    folder / "missing", std::string()}) {
        const DiskEvent opened = disk.open(path);
        REQUIRE(opened.error);
        CHECK(opened.error->path == path);
        CHECK(opened.error->fault == Fault::file);
    }
}

TEST_CASE("disk: targets that cannot be written leave nothing behind") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness disk(uring);
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    std::filesystem::create_directory(folder / "dir");
    write_file(folder / "file", "x");
    std::filesystem::create_symlink("loop", folder / "loop");
    const auto before = names_in(folder.path());
    for (const std::string& path :
         {folder / "pipe", folder / "dir", folder / "dir/", folder / "new/", folder / "file/below",
          folder / "loop", folder / ".."}) {
        INFO(path);
        const DiskEvent created = disk.create(path, 10);
        REQUIRE(created.error);
        CHECK(created.error->path == path);
    }
    const DiskEvent dropped = disk.create(folder / "dropped", 10);
    REQUIRE_FALSE(dropped.error);
    CHECK_FALSE(disk.write(dropped.file, 0, 10).error);
    disk.disk->close(dropped.file);
    REQUIRE_FALSE(disk.create(folder / "open at the end", 10).error);
    // The name became a directory in the meantime.
    const DiskEvent late = disk.create(folder / "late", 10);
    std::filesystem::create_directory(folder / "late");
    CHECK(disk.commit(late.file, {10, 0, 0600}).error);
    std::filesystem::remove(folder / "late");
    disk.disk.reset();
    CHECK(names_in(folder.path()) == before);
}

TEST_CASE("disk: a target's link is followed, a device is written in place") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness disk(uring);
    std::filesystem::create_directories(folder / "elsewhere");
    std::filesystem::create_symlink("elsewhere/real", folder / "link");
    REQUIRE_FALSE(disk.put(folder / "link", "through the link").error);
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK(read_file(folder / "elsewhere/real") == "through the link");
    REQUIRE_FALSE(disk.put(folder / "link", random_text(100'000, 1)).error);
    CHECK(std::filesystem::file_size(folder / "elsewhere/real") == 100'000);
    REQUIRE_FALSE(disk.put("/dev/null", random_text(100'000, 1)).error);
    CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("disk: never more than permission bits, and never set-user-id") {
    const Folder folder;
    Harness disk(true);
    REQUIRE_FALSE(disk.put(folder / "file", "x", 0106755).error);
    struct stat status {};
    REQUIRE(::stat((folder / "file").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0755);
}

TEST_CASE("disk: a second writer of one name is refused, a dead one's partial file taken over") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness disk(uring);
    Harness other(uring);
    const std::string partial = folder / partial_name("file");
    CHECK(partial_name("file").size() == 8 + 32 + 5);
    const DiskEvent first = disk.create(folder / "file", 5);
    REQUIRE_FALSE(first.error);
    CHECK(std::filesystem::exists(partial));
    for (Harness* again : {&disk, &other}) {
        const DiskEvent second = again->create(folder / "file", 5);
        REQUIRE(second.error);
        CHECK(second.error->message == "another transfer is writing this file");
    }
    std::memcpy(disk.disk->slot(0).data(), "first", 5);
    CHECK_FALSE(disk.write(first.file, 0, 5).error);
    CHECK_FALSE(disk.commit(first.file, {5, 0, 0600}).error);
    CHECK(read_file(folder / "file") == "first");

    write_file(partial, "left by a writer that died, longer than what comes");
    REQUIRE_FALSE(other.put(folder / "file", "second").error);
    CHECK(read_file(folder / "file") == "second");

    // Planted: a second name of somebody's file, and a link.
    write_file(folder / "precious", "precious");
    std::filesystem::create_hard_link(folder / "precious", partial);
    CHECK(disk.create(folder / "file", 5).error);
    std::filesystem::remove(partial);
    std::filesystem::create_symlink("precious", partial);
    CHECK(disk.create(folder / "file", 5).error);
    CHECK(read_file(folder / "precious") == "precious");
}

TEST_CASE("disk: in a jail neither names nor links lead out, and a reader writes nothing") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    std::filesystem::create_directories(folder / "jail/a");
    std::filesystem::create_symlink("../../out", folder / "jail/a/link");
    std::filesystem::create_symlink(folder / "out", folder / "jail/a/absolute");
    std::filesystem::create_symlink("..", folder / "jail/up");
    write_file(folder / "secret", "secret");
    Harness disk(uring, Root::jail(folder / "jail", false, false).value());
    for (const std::string path : {"a/link", "a/absolute", "../out", "/a/../../out", "up/out"}) {
        INFO(path);
        CHECK(disk.create(path, 5).error);
    }
    CHECK(disk.open("../secret").error);
    CHECK(disk.open("up/secret").error);
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
    REQUIRE_FALSE(disk.put("/a/../b/file", "within").error);
    CHECK(disk.get("b/file") == "within");

    Harness reader(uring, Root::jail(folder / "jail", true, false).value());
    const DiskEvent refused = reader.create("b/file", 5);
    REQUIRE(refused.error);
    CHECK(refused.error->message == "this account may only read");
    CHECK(reader.get("b/file") == "within");
}

TEST_CASE("disk: virtual files, where they are allowed") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    Harness plain(uring, Root::jail(folder.path(), false, false).value());
    CHECK(plain.open("/.zero").error);
    Harness disk(uring, Root::jail(folder.path(), false, true).value());
    CHECK(disk.open("/.zero").size == GiB);
    CHECK(disk.open("/.zero/nonsense").error);
    CHECK(disk.open("/.null").error);
    CHECK(disk.create("/.zero", 1).error);
    const DiskEvent zeros = disk.open("/.zero/2MiB");
    REQUIRE_FALSE(zeros.error);
    CHECK(zeros.size == 2 * MiB);
    CHECK(zeros.data == std::vector<Range>{{0, 2 * MiB}});
    std::memset(disk.disk->slot(0).data(), 1, kBlock);
    CHECK(disk.read(zeros.file, MiB, kBlock).bytes == kBlock);
    const ByteSpan slot = disk.disk->slot(0);
    CHECK(std::all_of(slot.begin(), slot.end(), [](std::byte b) { return b == std::byte{0}; }));
    CHECK(disk.read(zeros.file, 2 * MiB - 5, 10).bytes == 5);
    disk.disk->check_source(disk.next_tag, zeros.file);
    CHECK(disk.one().size == 2 * MiB);
    disk.disk->close(zeros.file);
    REQUIRE_FALSE(disk.put("/.null/any/thing", random_text(3 * kBlock, 5)).error);
    CHECK(names_in(folder.path()).empty());
}

TEST_CASE("disk: a full file system is an error that says so") {
    if (::geteuid() != 0) {
        WARN("skipped: a small file system takes root to mount");
        return;
    }
    const bool uring = GENERATE(true, false);
    const Folder folder;
    std::string message;
    std::vector<std::string> left;
    bool mounted = false;
    // A mount name space of this thread alone, which ends with it.
    std::thread apart([&] {
        mounted = ::unshare(CLONE_NEWNS) == 0 &&
                  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                  ::mount("small", folder.path().c_str(), "tmpfs", 0, "size=3m") == 0;
        if (!mounted) return;
        Harness disk(uring);
        const DiskEvent failed = disk.put(folder / "file", std::string(8 * kBlock, 'x'));
        if (failed.error) message = failed.error->sentence();
        disk.disk.reset();
        left = names_in(folder.path());
    });
    apart.join();
    if (!mounted) {
        WARN("skipped: mounting is forbidden here");
        return;
    }
    CHECK(message.find("cannot write: No space left on device") != std::string::npos);
    CHECK(message.find("free space") != std::string::npos);
    CHECK(left.empty());
}

TEST_CASE("disk: without room for locked memory plain slots serve") {
    const Folder folder;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &before) == 0);
    const rlimit none{0, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &none) == 0);
    {
        Harness disk(true);
        const std::string content = random_text(2 * kBlock, 3);
        CHECK_FALSE(disk.put(folder / "file", content).error);
        CHECK(disk.get(folder / "file") == content);
    }
    REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &before) == 0);
}

TEST_CASE("disk: destroyed with requests in flight it waits for them") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    write_file(folder / "file", random_text(8 * kBlock, 3));
    for (int i = 0; i < 20; ++i) {
        Harness disk(uring);
        const DiskEvent opened = disk.open(folder / "file");
        for (std::uint32_t slot = 0; slot < 8; ++slot) {
            CHECK(disk.disk->read(slot, opened.file, slot * kBlock, slot, 0, kBlock));
        }
        if (i % 2 == 0) disk.disk->submit();
    }
    CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
}
