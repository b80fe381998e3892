#include <sys/stat.h>

#include "common/base/units.h"
#include "common/io/file/partial_name.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

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

// cpuinfo says that it has 0 bytes.
TEST_CASE("disk: a file that has content and no size is an error") {
    Harness disk(true);
    const DiskEvent opened = disk.open("/proc/cpuinfo");
    REQUIRE(opened.error);
    CHECK(opened.error->fault == Fault::file);
    CHECK_FALSE(opened.error->remedy.empty());
    const Folder folder;
    write_file(folder / "empty", "");
    CHECK_FALSE(disk.open(folder / "empty").error);
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

TEST_CASE("disk: a directory that takes no files is no file that is being written") {
    Harness disk(GENERATE(true, false));
    const DiskEvent made = disk.create("/proc/lambda-ftp-test", 5);
    REQUIRE(made.error);
    CHECK(made.error->message.starts_with("cannot create"));
    CHECK(made.error->fault == Fault::file);
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
        CHECK(second.error->fault == Fault::cut);  // it may pass
    }
    std::memcpy(disk.disk->slot(0).data(), "first", 5);
    CHECK_FALSE(disk.write(first.file, 0, 5).error);
    CHECK_FALSE(disk.commit(first.file, {5, 0, 0600}).error);
    CHECK(read_file(folder / "file") == "first");

    write_file(partial, "left by a writer that died, longer than what comes");
    REQUIRE_FALSE(other.put(folder / "file", "second").error);
    CHECK(read_file(folder / "file") == "second");

    // Planted, or of a snapshot: a second name of another file. And a link.
    write_file(folder / "precious", "precious");
    std::filesystem::permissions(folder / "precious", std::filesystem::perms(0644));
    std::filesystem::create_hard_link(folder / "precious", partial);
    REQUIRE_FALSE(disk.put(folder / "file", "third").error);
    CHECK(read_file(folder / "file") == "third");
    CHECK(std::filesystem::hard_link_count(folder / "precious") == 1);
    CHECK(std::filesystem::status(folder / "precious").permissions() ==
          std::filesystem::perms(0644));
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
