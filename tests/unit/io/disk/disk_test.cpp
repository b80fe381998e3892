#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>

#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

// Its contents must not depend on where the machine keeps its files: in memory, and on a disk.
std::string folder_root() {
    return GENERATE(as<std::string>{}, "/tmp", "/dev/shm");
}

// As an engine's thread that has too much to do, or not.
DiskOptions overloaded(bool is = true) {
    return {.overloaded = [is] { return is; }};
}

std::size_t threads() {
    return names_in("/proc/self/task").size();
}

}  // namespace

TEST_CASE("disk: files of every size are written and read back, with mode and time") {
    const bool uring = GENERATE(true, false);
    const Folder folder(folder_root());
    Harness disk(uring);
    INFO((uring ? "io_uring" : "threads") << " in " << folder.path());
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
        CHECK(opened.content.has_value() == (size < ports::kSmallFile));
        if (!opened.content) disk.disk->close(opened.file);
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
    const Folder folder(folder_root());
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
    CHECK(hollow.size == 7);
    CHECK(hollow.content->empty());
    write_file(path, "tail");
    const DiskEvent tail = disk.open(path);
    CHECK(tail.data == std::vector<Range>{{0, 4}});
    CHECK(tail.content->size() == 4);

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
    write_file(folder / "file", random_text(100'000, 1));
    const DiskEvent opened = disk.open(folder / "file");
    write_file(folder / "file", "123");
    disk.disk->check_source(disk.next_tag, opened.file);
    const DiskEvent again = disk.one();
    CHECK(again.size == 3);
    CHECK(disk.read(opened.file, 0, 5).bytes == 3);
    disk.disk->close(opened.file);
}

TEST_CASE("disk: a second look sees that the name shows another file, or none") {
    const Folder folder;
    const auto path = folder / "file", aside = folder / "aside", link = folder / "link";
    write_file(path, random_text(100'000, 1));
    const auto removed = [&](const auto& name, const auto& change) {
        Harness disk(true);
        const DiskEvent opened = disk.open(name);
        change();
        disk.disk->check_source(disk.next_tag, opened.file);
        const DiskEvent again = disk.one();
        CHECK_FALSE(again.error);
        disk.disk->close(opened.file);
        return again.removed;
    };
    CHECK_FALSE(removed(path, [] {}));
    CHECK(removed(path, [&] { std::filesystem::rename(path, aside); }));
    CHECK(removed(aside, [&] {
        std::filesystem::rename(aside, path);
        write_file(aside, random_text(100'000, 1));
    }));
    std::filesystem::create_symlink("aside", link);
    CHECK_FALSE(removed(link, [] {}));
    CHECK(removed(link, [&] {
        std::filesystem::remove(link);
        std::filesystem::create_symlink("file", link);
    }));
    CHECK(removed(link, [&] { std::filesystem::remove(path); }));
    CHECK(removed(aside, [&] { std::filesystem::remove_all(folder.path()); }));
}

TEST_CASE("disk: a full file system is an error that says so") {
    if (::geteuid() != 0) {
        WARN("skipped: a small file system takes root to mount");
        return;
    }
    const bool uring = GENERATE(true, false);
    const bool here = GENERATE(true, false);
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
        Harness disk(uring, Root::machine(), 64, overloaded(!here));
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

TEST_CASE("disk: what lies in memory is there when it was asked for, one piece after the other") {
    const bool uring = GENERATE(true, false);
    const Folder folder("/dev/shm");
    const std::string content = random_text(kBlock + 5000, 5);
    write_file(folder / "file", content);
    Harness disk(uring, Root::machine(), 4, overloaded(false));
    const DiskEvent opened = disk.open(folder / "file");
    const auto read = [&](ports::DiskTag tag, std::uint64_t offset, std::uint32_t slot) {
        return disk.disk->read(tag, opened.file, offset, slot, 0, 300'000);
    };
    REQUIRE(read(7, 1000, 0));
    CHECK_FALSE(read(8, kBlock, 1));  // not before that is used
    auto events = disk.disk->poll();
    REQUIRE(events.size() == 1);
    CHECK(events[0].tag == 7);
    CHECK(events[0].bytes == 300'000);
    CHECK(std::memcmp(disk.disk->slot(0).data(), content.data() + 1000, 300'000) == 0);
    REQUIRE(read(8, kBlock, 1));
    events = disk.disk->poll();
    REQUIRE(events.size() == 1);
    CHECK_FALSE(events[0].error);
    CHECK(events[0].bytes == 5000);  // the file's end
}

TEST_CASE("disk: what lies in memory is read by another thread where this one is overloaded") {
    const bool uring = GENERATE(true, false);
    const Folder folder("/dev/shm");
    const std::string content = random_text(8 * kBlock - 3000, 5);
    write_file(folder / "file", content);
    Harness disk(uring, Root::machine(), 8, overloaded());
    const DiskEvent opened = disk.open(folder / "file");
    CHECK(opened.in_memory);
    const std::size_t before = threads();
    for (int round = 0; round < 20; ++round) {
        for (std::uint32_t slot = 0; slot < 8; ++slot) {
            std::memset(disk.disk->slot(slot).data(), 0xaa, kBlock);
            CHECK(disk.disk->read(slot, opened.file, slot * kBlock, slot, 0, kBlock));
        }
        CHECK(threads() > before);
        for (const DiskEvent& event : disk.wait_for(8)) {
            CHECK_FALSE(event.error);
            const std::size_t offset = event.tag * kBlock;
            CHECK(event.bytes == std::min<std::size_t>(kBlock, content.size() - offset));
            const ByteSpan slot = disk.disk->slot(static_cast<std::uint32_t>(event.tag));
            CHECK(std::memcmp(slot.data(), content.data() + offset, event.bytes) == 0);
        }
    }
}

TEST_CASE("disk: what is written into memory is there at once, a few blocks between two polls") {
    const bool uring = GENERATE(true, false);
    const Folder folder("/dev/shm");
    Harness disk(uring, Root::machine(), 64, overloaded(false));
    const std::string content = random_text(8 * kBlock - 3000, 5);
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
        const std::string part = content.substr(slot * kBlock, kBlock);
        std::memcpy(disk.disk->slot(slot).data(), part.data(), part.size());
    }
    const DiskEvent made = disk.create(folder / "file", content.size());
    REQUIRE_FALSE(made.error);
    const auto write = [&](std::uint32_t slot) {
        const std::size_t bytes = std::min<std::size_t>(kBlock, content.size() - slot * kBlock);
        return disk.disk->write(100 + slot, made.file, slot * kBlock, slot, 0, bytes);
    };
    std::uint32_t next = 0, polls = 0;
    for (; next < 8 && polls < 8; ++polls) {
        ports::DiskTag tag = 100 + next;
        const std::uint32_t first = next;
        while (next < 8 && write(next)) ++next;
        const auto events = disk.disk->poll();  // nobody was waited for
        REQUIRE(events.size() == next - first);
        for (const DiskEvent& event : events) {
            CHECK_FALSE(event.error);
            CHECK(event.tag == tag++);
            CHECK(event.bytes == (event.tag == 107 ? kBlock - 3000 : kBlock));
        }
    }
    CHECK(next == 8);
    CHECK(polls == 2);
    disk.next_tag = 200;
    CHECK_FALSE(disk.commit(made.file, {content.size(), 0, 0600}).error);
    CHECK(disk.get(folder / "file") == content);
}

TEST_CASE("disk: a worker writes into memory where this thread has too much to do, or may not") {
    const bool uring = GENERATE(true, false);
    const bool busy = GENERATE(true, false);
    const Folder folder("/dev/shm");
    DiskOptions options = overloaded(busy);
    options.copies_writes = busy;
    Harness disk(uring, Root::machine(), 64, options);
    const std::string content = random_text(kBlock, 5);
    std::memcpy(disk.disk->slot(0).data(), content.data(), content.size());
    const DiskEvent made = disk.create(folder / "file", content.size());
    REQUIRE_FALSE(made.error);
    REQUIRE(disk.disk->write(disk.next_tag, made.file, 0, 0, 0, kBlock));
    if (uring) CHECK(disk.disk->poll().empty());  // not before it is handed over
    CHECK_FALSE(disk.one().error);
    CHECK_FALSE(disk.commit(made.file, {content.size(), 0, 0600}).error);
    CHECK(disk.get(folder / "file") == content);
}

TEST_CASE("disk: what a worker began to write into memory it ends") {
    const bool uring = GENERATE(true, false);
    const Folder folder("/dev/shm");
    bool busy = true;
    Harness disk(uring, Root::machine(), 64, {.overloaded = [&busy] { return busy; }});
    const std::string content = random_text(kBlock, 5);
    std::memcpy(disk.disk->slot(0).data(), content.data(), content.size());
    const DiskEvent made = disk.create(folder / "file", 4 * kBlock);
    REQUIRE_FALSE(made.error);
    for (std::uint64_t i = 0; i < 4; ++i)
        REQUIRE(disk.disk->write(100 + i, made.file, i * kBlock, 0, 0, kBlock));
    busy = false;
    std::size_t ended = 0, polls = 0;
    for (const Time limit = Clock().now() + 20s; ended < 4 && Clock().now() < limit; ++polls) {
        disk.disk->submit();
        disk.reactor->wait(limit);
        const auto events = disk.disk->poll();
        // In steps of 128 KiB, of which one is under way between two polls.
        if (polls < 7) CHECK(events.empty());
        for (const DiskEvent& event : events) CHECK_FALSE(event.error);
        ended += events.size();
    }
    CHECK(ended == 4);
    disk.next_tag = 200;
    CHECK_FALSE(disk.commit(made.file, {4 * kBlock, 0, 0600}).error);
    CHECK(disk.get(folder / "file") == content + content + content + content);
}

TEST_CASE("disk: what memory has no room for is an error of the write") {
    const bool here = GENERATE(true, false);
    const Folder folder("/dev/shm");
    Harness disk(true, Root::machine(), 64, overloaded(!here));
    const DiskEvent made = disk.create(folder / "file", 4 * kBlock);
    REQUIRE_FALSE(made.error);
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit some{kBlock + 5000, before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &some) == 0);
    CHECK_FALSE(disk.write(made.file, 0, kBlock).error);
    const DiskEvent cut = disk.write(made.file, kBlock, kBlock);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, handler);
    REQUIRE(cut.error);
    CHECK(cut.error->path == folder / "file");
    disk.disk->close(made.file);
}

TEST_CASE("disk: destroyed with requests in flight it waits for them") {
    const bool uring = GENERATE(true, false);
    const Folder folder(folder_root());
    write_file(folder / "file", random_text(8 * kBlock, 3));
    for (int i = 0; i < 20; ++i) {
        Harness disk(uring, Root::machine(), 64, overloaded());
        const DiskEvent opened = disk.open(folder / "file");
        for (std::uint32_t slot = 0; slot < 8; ++slot) {
            CHECK(disk.disk->read(slot, opened.file, slot * kBlock, slot, 0, kBlock));
        }
        if (i % 2 == 0) disk.disk->submit();
    }
    CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
}
