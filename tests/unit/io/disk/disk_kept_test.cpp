// Partial files that stay when a transfer is cut, and who may take them over.
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/file/open_file.h"
#include "common/io/file/partial_name.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

struct Cut : Harness {
    using Harness::Harness;
    DiskEvent sync(ports::DiskFile file, std::uint64_t offset, const std::string& image) {
        const ByteView bytes = std::as_bytes(std::span(image.data(), image.size()));
        disk->sync(next_tag, file, offset, {bytes.begin(), bytes.end()});
        return one();
    }
    bool finds(const std::string& path, bool below) {
        disk->find_partials(next_tag, path, below);
        return one().found;
    }
};

std::string text(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Half of a file, journalled, and the transfer cut.
void cut(bool uring, const std::string& path, const std::string& journal = "what is durable") {
    Cut disk(uring);
    const DiskEvent created = disk.create(path, 2 * kBlock, [](ByteView) { return true; });
    REQUIRE_FALSE(created.error);
    std::memset(disk.disk->slot(0).data(), 'x', kBlock);
    REQUIRE_FALSE(disk.write(created.file, 0, kBlock).error);
    REQUIRE_FALSE(disk.sync(created.file, 3, journal).error);
}

const ports::Disk::Keep kYes = [](ByteView) { return true; };

}  // namespace

TEST_CASE("disk: a partial file with a journal stays when it is cut, and can be read and ended") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    cut(uring, folder / "file");
    CHECK(names_in(folder.path()).size() == 2);
    Cut disk(uring);
    const DiskEvent kept = disk.create(folder / "file", 2 * kBlock, [](ByteView journal) {
        return text({journal.begin(), journal.end()}) == std::string(3, '\0') + "what is durable";
    });
    REQUIRE_FALSE(kept.error);
    CHECK(kept.journal.size() == 3 + 15);
    CHECK(disk.read(kept.file, 0, kBlock).bytes == kBlock);
    CHECK(disk.disk->slot(0)[kBlock - 1] == std::byte{'x'});
    CHECK(disk.read(kept.file, kBlock, kBlock).bytes == 0);  // never written
    CHECK_FALSE(disk.commit(kept.file, {kBlock, 0, 0600}).error);
    CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
    CHECK(read_file(folder / "file") == std::string(kBlock, 'x'));
}

TEST_CASE("disk: what is not to be kept is emptied, and a failed file leaves nothing") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    for (const ports::Disk::Keep& keep :
         {ports::Disk::Keep{}, ports::Disk::Keep{[](ByteView) { return false; }}}) {
        cut(uring, folder / "file");
        Cut disk(uring);
        const DiskEvent fresh = disk.create(folder / "file", 2 * kBlock, keep);
        REQUIRE_FALSE(fresh.error);
        CHECK(fresh.journal.empty());
        CHECK(disk.read(fresh.file, 0, kBlock).bytes == 0);
        disk.disk->close(fresh.file);
    }
    CHECK(names_in(folder.path()).empty());

    cut(uring, folder / "file");
    Cut disk(uring);
    const DiskEvent kept = disk.create(folder / "file", 2 * kBlock, kYes);
    REQUIRE_FALSE(kept.error);
    disk.disk->close(kept.file);
    disk.disk.reset();
    CHECK(names_in(folder.path()).empty());
}

// Where others make names, what becomes of another's partial file would be theirs.
TEST_CASE("disk: another's partial file is kept only where nobody else makes names") {
    if (::geteuid() != 0) return;  // nobody else can give files away
    const bool uring = GENERATE(true, false);
    const mode_t mode = GENERATE(0755, 0775, 01777);
    const Folder folder;
    cut(uring, folder / "file");
    for (const std::string& name : names_in(folder.path()))
        REQUIRE(::chown((folder / name).c_str(), 65534, 65534) == 0);
    REQUIRE(::chmod(folder.path().c_str(), mode) == 0);
    Cut disk(uring);
    const DiskEvent created = disk.create(folder / "file", 2 * kBlock, kYes);
    REQUIRE_FALSE(created.error);
    CHECK(created.journal.empty() == (mode != 0755));
    REQUIRE_FALSE(disk.commit(created.file, {kBlock, 0, 0600}).error);
    struct stat made {};
    REQUIRE(::stat((folder / "file").c_str(), &made) == 0);
    CHECK(made.st_uid == (mode == 0755 ? 65534 : 0));
}

TEST_CASE(
    "disk: a journal without its partial file, or that somebody planted, counts for nothing") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    const std::string partial = folder / partial_name("file");
    const std::string journal = folder / journal_name(partial_name("file"));
    cut(uring, folder / "file");
    std::filesystem::remove(partial);
    {
        Cut disk(uring);
        // So that it goes.
        CHECK(disk.finds(folder / "file", false));
        CHECK(disk.finds(folder.path(), true));
        const DiskEvent fresh = disk.create(folder / "file", 5, kYes);
        CHECK(fresh.journal.empty());
        CHECK_FALSE(std::filesystem::exists(journal));
        disk.disk->close(fresh.file);
    }
    write_file(folder / "precious", "precious");
    for (const bool hard : {true, false}) {
        std::filesystem::remove(journal);
        if (hard) {
            std::filesystem::create_hard_link(folder / "precious", journal);
        } else {
            std::filesystem::create_symlink("precious", journal);
        }
        Cut disk(uring);
        const DiskEvent created = disk.create(folder / "file", 2 * kBlock, kYes);
        REQUIRE_FALSE(created.error);
        CHECK(created.journal.empty());
        CHECK_FALSE(disk.sync(created.file, 0, "ours").error);
        CHECK(read_file(folder / "precious") == "precious");
        disk.disk->close(created.file);
    }
}

TEST_CASE("disk: partial files are found at and below a place") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    std::filesystem::create_directories(folder / "a/b/c");
    write_file(folder / "a/plain", "x");
    Cut disk(uring);
    CHECK_FALSE(disk.finds(folder.path(), true));
    CHECK_FALSE(disk.finds(folder.path(), false));
    CHECK_FALSE(disk.finds(folder / "not there", true));
    CHECK_FALSE(disk.finds(folder / "a/b/c/file", false));
    cut(uring, folder / "a/b/c/file");
    CHECK(disk.finds(folder.path(), true));
    CHECK(disk.finds(folder.path(), false));  // of a tree that became its target
    CHECK(disk.finds(folder / "a/b/c/file", false));
    CHECK_FALSE(disk.finds(folder / "a/b/c/other", false));
    CHECK_FALSE(disk.finds(folder / "a/file", false));
}

TEST_CASE("disk: what takes the place of a larger file leaves nothing of its parts") {
    const bool uring = GENERATE(true, false);
    const Folder folder;
    const std::vector<std::string> alone{"file", "other"};
    write_file(folder / "other", "x");

    cut(uring, folder / "file");
    CHECK_FALSE(Cut(uring).put(folder / "file", std::string(100'000, 'y')).error);
    CHECK(names_in(folder.path()) == alone);

    using Kind = ports::Making::Kind;
    for (const Kind kind : {Kind::file, Kind::link, Kind::same}) {
        std::filesystem::remove(folder / "file");
        cut(uring, folder / "file");
        Cut disk(uring);
        disk.disk->make_entry(disk.next_tag, {.kind = kind,
                                              .name = {folder / "", "file"},
                                              .text = "shown",
                                              .first = {folder / "", "other"}});
        CHECK_FALSE(disk.one().error);
        CHECK(names_in(folder.path()) == alone);
    }
}
