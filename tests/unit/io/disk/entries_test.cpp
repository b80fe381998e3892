// What is made whole: small files, directories, links, further names.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/io/file/attributes.h"
#include "common/io/file/open_file.h"
#include "common/io/file/partial_name.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;
using Kind = ports::Making::Kind;

namespace {

struct Entries : Harness {
    explicit Entries(const std::string& base, Root root = Root::machine())
        : Harness(true, std::move(root)), base_(base) {}

    ports::Making of(Kind kind, const std::string& below) const {
        ports::Making making;
        making.kind = kind;
        making.name = {base_, below};
        making.metadata = {0, 1'000'000'000'000'000'007, 0750};
        return making;
    }
    DiskEvent make(ports::Making making) {
        disk->make_entry(next_tag, std::move(making));
        return one();
    }
    DiskEvent file(const std::string& below, const std::string& content) {
        ports::Making making = of(Kind::file, below);
        std::memcpy(disk->slot(1).data() + 77, content.data(), content.size());
        making.slot = 1;
        making.at = 77;
        making.bytes = static_cast<std::uint32_t>(content.size());
        making.metadata.size = content.size();
        return make(std::move(making));
    }
    DiskEvent link(const std::string& below, const std::string& shows) {
        ports::Making making = of(Kind::link, below);
        making.text = shows;
        return make(std::move(making));
    }
    DiskEvent same(const std::string& below, const std::string& first) {
        ports::Making making = of(Kind::same, below);
        making.first = {base_, first};
        return make(std::move(making));
    }

  private:
    const std::string base_;
};

struct stat status_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status;
}

}  // namespace

TEST_CASE("entries: a small tree with its modes and times") {
    const Folder folder;
    Entries disk(folder / "new/target");
    REQUIRE_FALSE(disk.make(disk.of(Kind::directory, "")).error);
    REQUIRE_FALSE(disk.make(disk.of(Kind::directory, "d")).error);
    REQUIRE_FALSE(disk.file("d/f", "content").error);
    REQUIRE_FALSE(disk.file("d/empty", "").error);
    REQUIRE_FALSE(disk.link("d/l", "no/where").error);
    REQUIRE_FALSE(disk.same("d/f2", "d/f").error);
    ports::Making settle = disk.of(Kind::settle, "d");
    settle.metadata.mode = 0511;
    REQUIRE_FALSE(disk.make(settle).error);

    const std::string d = folder / "new/target/d";
    CHECK(read_file(d + "/f") == "content");
    CHECK(std::filesystem::read_symlink(d + "/l") == "no/where");
    CHECK(status_of(d + "/f").st_ino == status_of(d + "/f2").st_ino);
    CHECK((status_of(d).st_mode & 07777) == 0511);
    for (const char* name : {"", "/f", "/empty", "/l"}) {
        CHECK(status_of(d + name).st_mtim.tv_sec == 1'000'000'000);
        CHECK(status_of(d + name).st_mtim.tv_nsec == 7);
    }
    CHECK(names_in(d) == std::vector<std::string>{"empty", "f", "f2", "l"});

    // Once more, over what stands there.
    REQUIRE_FALSE(disk.make(disk.of(Kind::directory, "d")).error);
    REQUIRE_FALSE(disk.file("d/f", "new").error);
    REQUIRE_FALSE(disk.file("d/l", "a file now").error);
    REQUIRE_FALSE(disk.link("d/empty", "x").error);
    REQUIRE_FALSE(disk.same("d/f2", "d/f").error);
    REQUIRE_FALSE(disk.same("d/f2", "d/f").error);
    CHECK(read_file(d + "/f2") == "new");
    CHECK(read_file(d + "/l") == "a file now");
    CHECK(std::filesystem::is_symlink(d + "/empty"));
    CHECK(names_in(d) == std::vector<std::string>{"empty", "f", "f2", "l"});
}

TEST_CASE(
    "entries: two small files of one name at once, and one beside an abandoned partial file") {
    const Folder folder;
    Entries disk(folder.path());
    for (const std::uint32_t bytes : {1u, 2u}) {
        ports::Making making = disk.of(Kind::file, "f");
        making.metadata.size = making.bytes = bytes;
        disk.disk->make_entry(disk.next_tag++, std::move(making));
    }
    for (const DiskEvent& event : disk.wait_for(2)) CHECK_FALSE(event.error);
    CHECK(std::filesystem::file_size(folder / "f") == 2);
    CHECK(names_in(folder.path()) == std::vector<std::string>{"f"});

    std::ofstream(folder / partial_name("g")) << "left behind";
    REQUIRE_FALSE(disk.file("g", "whole").error);
    CHECK(read_file(folder / "g") == "whole");
    CHECK(names_in(folder.path()) == std::vector<std::string>{"f", "g"});
}

TEST_CASE("entries: a directory goes in the place of a file that was named, and of no link") {
    const Folder folder;
    const auto replaced = [&](const std::string& name) {
        Entries disk(folder / name);
        ports::Making making = disk.of(Kind::directory, "");
        making.replaces = true;
        return !disk.make(std::move(making)).error;
    };
    write_file(folder / "file", "x");
    std::filesystem::create_directory(folder / "directory");
    std::filesystem::create_directory_symlink("directory", folder / "link");
    for (const std::string name : {"unmounted", "circle"})
        std::filesystem::create_directory_symlink(name == "circle" ? name : "none", folder / name);
    CHECK(replaced("file"));
    CHECK(replaced("link"));
    CHECK_FALSE(replaced("unmounted"));
    CHECK_FALSE(replaced("circle"));
    CHECK(S_ISDIR(status_of(folder / "file").st_mode));
    for (const std::string name : {"link", "unmounted", "circle"})
        CHECK(S_ISLNK(status_of(folder / name).st_mode));
}

TEST_CASE("entries: what came into a directory of our own meanwhile is met") {
    const Folder folder;
    Entries disk(folder / "target");
    REQUIRE_FALSE(disk.make(disk.of(Kind::directory, "")).error);
    REQUIRE_FALSE(disk.make(disk.of(Kind::directory, "d")).error);
    const std::string d = folder / "target/d";
    write_file(d + "/file", "somebody's");
    std::filesystem::create_symlink("no/where", d + "/link");
    std::filesystem::create_directory(d + "/directory");
    CHECK_FALSE(disk.file("d/file", "ours").error);
    CHECK_FALSE(disk.file("d/link", "ours").error);
    CHECK(disk.file("d/directory", "ours").error);
    CHECK(read_file(d + "/file") == "ours");
    CHECK(read_file(d + "/link") == "ours");
    CHECK(names_in(d) == std::vector<std::string>{"directory", "file", "link"});

    // Done with, it is like any other: a partial file that somebody left goes.
    REQUIRE_FALSE(disk.make(disk.of(Kind::settle, "d")).error);
    std::ofstream(d + "/" + partial_name("file")) << "left behind";
    CHECK_FALSE(disk.file("d/file", "again").error);
    CHECK(names_in(d) == std::vector<std::string>{"directory", "file", "link"});
}

TEST_CASE("entries: below what was named, a pipe or a device is replaced and never written") {
    const Folder folder;
    Entries disk(folder / "target");
    std::filesystem::create_directory(folder / "target");
    const auto stand = [&](const std::string& name) {
        const std::string path = folder / ("target/" + name);
        if (::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) == 0) return;
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);  // without root
    };
    stand("small");
    REQUIRE_FALSE(disk.file("small", "content").error);
    CHECK(read_file(folder / "target/small") == "content");

    stand("large");
    disk.disk->create_target(disk.next_tag, {folder / "target", "large"}, 5, {}, {});
    const DiskEvent created = disk.one();
    REQUIRE_FALSE(created.error);
    std::memcpy(disk.disk->slot(0).data(), "large", 5);
    REQUIRE_FALSE(disk.write(created.file, 0, 5).error);
    REQUIRE_FALSE(disk.commit(created.file, {5, 0, 0600}).error);
    CHECK(read_file(folder / "target/large") == "large");
    CHECK(names_in(folder / "target") == std::vector<std::string>{"large", "small"});
}

TEST_CASE("entries: times beyond what 64 bits of nanoseconds hold are the nearest of those") {
    CHECK(nanoseconds_of({9'223'372'036, 854'775'807}) == INT64_MAX);
    CHECK(nanoseconds_of({9'223'372'036, 854'775'808}) == INT64_MAX);
    CHECK(nanoseconds_of({15'000'000'000, 1}) == INT64_MAX);
    CHECK(nanoseconds_of({-15'000'000'000, 1}) == INT64_MIN);
    CHECK(nanoseconds_of({-1, 999'999'999}) == -1);
}

TEST_CASE("entries: a batch of small files in many directories") {
    const Folder folder;
    Entries disk(folder.path());
    constexpr int kFiles = 300;
    for (int i = 0; i < kFiles; ++i) {
        ports::Making making =
            disk.of(Kind::file, "d" + std::to_string(i % 7) + "/f" + std::to_string(i));
        making.metadata.size = 1000;  // the rest is a hole
        making.bytes = 10;
        disk.disk->make_entry(disk.next_tag++, std::move(making));
    }
    for (const DiskEvent& event : disk.wait_for(kFiles)) CHECK_FALSE(event.error);
    for (int i = 0; i < kFiles; ++i) {
        const std::string path = folder / ("d" + std::to_string(i % 7) + "/f" + std::to_string(i));
        CHECK(std::filesystem::file_size(path) == 1000);
    }
    CHECK(names_in(folder / "d1").front() == "f1");
}

TEST_CASE("entries: a slot is returned before its files are durable") {
    const Folder folder;
    Entries disk(folder.path());
    constexpr std::uint32_t kFiles = 40, kBytes = 1000;
    const ByteSpan slot = disk.disk->slot(1);
    for (std::uint32_t i = 0; i < kFiles; ++i) {
        ports::Making making = disk.of(Kind::file, "f" + std::to_string(i));
        std::memset(slot.data() + i * kBytes, 'a' + static_cast<int>(i % 26), kBytes);
        making.slot = 1;
        making.at = i * kBytes;
        making.bytes = kBytes;
        making.metadata.size = kBytes;
        making.returns = i + 1 == kFiles;
        disk.disk->make_entry(disk.next_tag++, std::move(making));
    }
    const auto is_return = [](const DiskEvent& event) { return event.returned; };
    const auto first = disk.wait_until(
        [&](const auto& events) { return std::any_of(events.begin(), events.end(), is_return); });
    std::memset(slot.data(), '?', slot.size());
    const auto returned = std::find_if(first.begin(), first.end(), is_return);
    CHECK(returned->tag == disk.next_tag - 1);
    CHECK(std::none_of(first.begin(), returned, [&](const DiskEvent& event) {
        return event.tag == disk.next_tag - 1;  // the last has not ended
    }));
    for (const DiskEvent& event : disk.wait_for(kFiles + 1 - first.size())) {
        CHECK_FALSE(event.error);
        CHECK_FALSE(event.returned);
    }
    for (std::uint32_t i = 0; i < kFiles; ++i) {
        CHECK(read_file(folder / ("f" + std::to_string(i))) ==
              std::string(kBytes, static_cast<char>('a' + i % 26)));
    }
}

TEST_CASE("entries: more small files than the process may open") {
    const Folder folder;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit few{256, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    {
        Entries disk(folder.path());
        constexpr int kFiles = 600;
        for (int i = 0; i < kFiles; ++i)
            disk.disk->make_entry(disk.next_tag++, disk.of(Kind::file, "f" + std::to_string(i)));
        for (const DiskEvent& event : disk.wait_for(kFiles)) CHECK_FALSE(event.error);
    }
    CHECK(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(names_in(folder.path()).size() == 600);
}

TEST_CASE("entries: no link below the target is followed, wherever it leads") {
    const Folder folder;
    std::filesystem::create_directories(folder / "target/inside");
    std::filesystem::create_directories(folder / "outside");
    write_file(folder / "outside/victim", "safe");
    for (const char* shows : {"inside", "../outside", "/tmp"}) {
        INFO(shows);
        std::filesystem::remove(folder / "target/link");
        std::filesystem::create_symlink(shows, folder / "target/link");
        Entries disk(folder / "target");
        CHECK(disk.file("link/f", "x").error);
        CHECK(disk.make(disk.of(Kind::directory, "link")).error);
        CHECK(disk.make(disk.of(Kind::directory, "link/sub")).error);
        CHECK(disk.make(disk.of(Kind::settle, "link")).error);
        CHECK(disk.link("link/l", "x").error);
        CHECK(disk.same("stolen", "link/victim").error);
        disk.disk->create_target(disk.next_tag, {folder / "target", "link/big"}, 1 << 20, {}, {});
        CHECK(disk.one().error);
    }
    CHECK(names_in(folder / "outside") == std::vector<std::string>{"victim"});
    CHECK(names_in(folder / "target/inside").empty());
    CHECK(names_in(folder / "target") == std::vector<std::string>{"inside", "link"});
    // What the user named may be a link.
    std::filesystem::remove(folder / "target/link");
    std::filesystem::create_symlink("../outside", folder / "target/link");
    Entries named(folder / "target/link");
    CHECK_FALSE(named.file("f", "x").error);
    CHECK(read_file(folder / "outside/f") == "x");
}

TEST_CASE("entries: what cannot be made says why and leaves nothing") {
    const Folder folder;
    std::filesystem::create_directories(folder / "t/directory");
    write_file(folder / "t/file", "x");
    Entries disk(folder / "t");
    CHECK(disk.file("directory", "x").error);
    CHECK(disk.link("directory", "x").error);
    CHECK(disk.make(disk.of(Kind::directory, "file")).error);
    CHECK(disk.file("file/below", "x").error);
    CHECK(disk.same("other", "nothing").error);
    CHECK(names_in(folder / "t") == std::vector<std::string>{"directory", "file"});

    Entries reader(".", Root::jail(folder / "t", true, false).value());
    CHECK(reader.file("f", "x").error);
    CHECK(reader.make(reader.of(Kind::directory, "d")).error);
    CHECK(names_in(folder / "t") == std::vector<std::string>{"directory", "file"});
}

TEST_CASE("entries: an archive keeps owners and attributes, and set-user-id with them") {
    const Folder folder;
    Entries disk(folder.path());
    ports::Making making = disk.of(Kind::file, "f");
    making.metadata.mode = 04755;
    making.metadata.archived.emplace();
    making.metadata.archived->owner = {::geteuid(), ::getegid()};
    making.metadata.archived->extended = {{"user.colour", "blue"}};
    const DiskEvent made = disk.make(making);
    if (made.error && made.error->message.find("supported") != std::string::npos) return;
    REQUIRE_FALSE(made.error);
    CHECK_FALSE(made.unowned);
    CHECK((status_of(folder / "f").st_mode & 07777) == 04755);
    char value[16];
    CHECK(::getxattr((folder / "f").c_str(), "user.colour", value, sizeof value) == 4);

    disk.disk->open_source(disk.next_tag, {.path = folder / "f", .archive = true}, kGrain);
    const DiskEvent opened = disk.one();
    REQUIRE(opened.archived);
    CHECK(opened.archived->extended == making.metadata.archived->extended);
    if (::geteuid() == 0) {
        making.metadata.archived->owner = {4321, 1234};
        REQUIRE_FALSE(disk.make(making).error);
        CHECK(status_of(folder / "f").st_uid == 4321);
        CHECK((status_of(folder / "f").st_mode & 07777) == 04755);
    }
}

TEST_CASE("entries: set-user-ID only where it may be, and a directory's set-group-ID anyway") {
    const Folder folder;
    write_file(folder / "f", "x");
    std::filesystem::create_directory(folder / "d");
    for (const bool set_id : {false, true}) {
        for (const char* name : {"f", "d"}) {
            const Descriptor opened(::open((folder / name).c_str(), O_RDONLY));
            const std::uint32_t mode = *name == 'f' ? 06755 : 02755;
            ports::FileMetadata metadata{0, 1, mode, ports::Archived{{::geteuid(), ::getegid()}}};
            const auto applied = apply({.descriptor = opened.get()}, metadata, set_id, name);
            if (!applied && applied.error().message.find("supported") != std::string::npos) return;
            REQUIRE(applied.ok());
            const bool kept = set_id || *name == 'd';
            CHECK(*applied == kept);
            CHECK((status_of(folder / name).st_mode & 07777) == (kept ? mode : 0755));
        }
    }
}

TEST_CASE("entries: the root of a jail keeps its mode and owner") {
    const Folder folder;
    std::filesystem::create_directories(folder / "jail/below");
    std::filesystem::create_directory_symlink("..", folder / "jail/below/up");
    REQUIRE(::chmod((folder / "jail").c_str(), 0750) == 0);
    for (const char* name : {"/", "", ".", "below/..", "below/up"}) {
        INFO(name);
        Entries disk(name, Root::jail(folder / "jail", false, false).value());
        REQUIRE_FALSE(disk.make(disk.of(Kind::directory, "")).error);
        ports::Making settle = disk.of(Kind::settle, "");
        settle.metadata.mode = 0;
        settle.metadata.archived = ports::Archived{{4321, 1234}, {{"user.colour", "blue"}}};
        ++settle.metadata.mtime_ns;
        const DiskEvent settled = disk.make(settle);
        REQUIRE_FALSE(settled.error);
        CHECK_FALSE(settled.unowned);
        const auto status = status_of(folder / "jail");
        CHECK((status.st_mode & 07777) == 0750);
        CHECK(status.st_uid == ::geteuid());
        CHECK(status.st_mtim.tv_nsec == 8);
    }
    // As the machine's root it is a directory like another.
    Entries disk(folder / "jail");
    REQUIRE_FALSE(disk.make(disk.of(Kind::settle, "")).error);
    CHECK(status_of(folder / "jail").st_mtim.tv_nsec == 7);
}

TEST_CASE("entries: what is an interface of the source's file system is left out") {
    const Folder folder;
    write_file(folder / "f", "x");
    const Descriptor opened(::open((folder / "f").c_str(), O_RDONLY));
    const ports::Archived archived{
        {::geteuid(), ::getegid()},
        {{"btrfs.compression", "zlib"}, {"system.nfs4_acl", "x"}, {"trusted.lov", "x"}}};
    CHECK(apply({.descriptor = opened.get()}, {1, 1, 0644, archived}, true, "f").ok());
    CHECK(::listxattr((folder / "f").c_str(), nullptr, 0) == 0);
}
