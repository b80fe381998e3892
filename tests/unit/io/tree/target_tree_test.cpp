#include <fcntl.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <utility>

#include "common/io/file/partial_name.h"
#include "common/io/process.h"
#include "tests/support/few_files.h"
#include "tests/unit/io/tree/target_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

// What this program asks its disk for: the inodes that were flushed by themselves, and how often a
// whole file system was; the inode whose flush fails; whether flushes of files wait, and one does.
struct Flushes {
    std::mutex mutex;
    std::condition_variable changed;
    bool held = false, waits = false;
    std::set<ino_t> single;
    int shared = 0;
    bool foreign = false;  // no file system has a barrier
    ino_t failing = 0;
    int error_number = EIO;  // with which it does
} flushes;

ino_t inode_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_ino;
}

}  // namespace

extern "C" int fsync(int file) {
    struct stat status {};
    if (::fstat(file, &status) == 0) {
        std::unique_lock lock(flushes.mutex);
        flushes.waits = flushes.held;
        flushes.changed.notify_all();
        flushes.changed.wait(lock, [] { return !flushes.held; });
        flushes.single.insert(status.st_ino);
        if (status.st_ino == flushes.failing) {
            errno = flushes.error_number;
            return -1;
        }
    }
    return static_cast<int>(::syscall(SYS_fsync, file));
}

extern "C" int syncfs(int file) noexcept {
    {
        const std::lock_guard lock(flushes.mutex);
        ++flushes.shared;
    }
    return static_cast<int>(::syscall(SYS_syncfs, file));
}

extern "C" int fstatfs(int file, struct statfs* into) noexcept {
    const auto result = static_cast<int>(::syscall(SYS_fstatfs, file, into));
    constexpr long kFuse = 0x65735546;
    if (flushes.foreign) into->f_type = kFuse;
    return result;
}

TEST_CASE("target: what stands there is seen, and no link is followed") {
    const Folder folder;
    std::filesystem::create_directories(folder / "d");
    write_file(folder / "f", "four");
    std::filesystem::create_symlink("f", folder / "l");
    std::filesystem::create_directory_symlink("d", folder / "ld");
    write_file(folder / "d/inside", "x");
    const std::string base = folder / "";
    Asked asked;
    asked.tree.begin(base);
    CHECK(asked.next().holds);
    asked.tree.begin(folder / "none");
    CHECK_FALSE(asked.next().holds);
    const TargetEvent event =
        asked.look({enter(base, "."), enter(base, "d"), at(base, "d/inside"), kLeave, at(base, "f"),
                    at(base, "l"), enter(base, "ld"), at(base, "ld/inside"), kLeave,
                    at(base, "none"), enter(base, "not"), at(base, "not/there"), kLeave, kLeave});
    std::vector<StandingKind> kinds;
    for (const auto& each : event.standings) kinds.push_back(each.kind);
    using enum ports::Standing::Kind;
    CHECK(kinds == std::vector{directory, directory, file, file, link, link, nothing, nothing,
                               nothing, nothing});
    CHECK(event.standings[3].metadata.size == 4);
    CHECK(event.standings[4].text == "f");
    CHECK_FALSE(event.error);
}

TEST_CASE("target: what lies below something that is no directory cannot be there") {
    const Folder folder;
    write_file(folder / "f", "x");
    std::filesystem::create_directory_symlink("/", folder / "l");
    const std::string base = folder / "";
    Asked asked;
    const TargetEvent event =
        asked.look({enter(base, "."), enter(base, "f"), enter(base, "f/d"), at(base, "f/d/x"),
                    kLeave, kLeave, enter(base, "l"), at(base, "l/etc"), kLeave,
                    enter(base, "none"), at(base, "none/x"), kLeave, kLeave});
    std::vector<bool> beneath;
    for (const auto& each : event.standings) beneath.push_back(each.beneath);
    CHECK(beneath == std::vector{false, false, true, true, false, true, false, false});
}

TEST_CASE("target: what cannot be looked at is not said to be missing") {
    const Folder folder;
    std::filesystem::create_directories(folder / "closed/inner");
    write_file(folder / "closed/f", "x");
    std::filesystem::permissions(folder / "", std::filesystem::perms(0755));
    std::filesystem::permissions(folder / "closed", std::filesystem::perms(0));
    const std::string base = folder / "";
    // The tree's thread is nobody, for root may look everywhere.
    const bool root = ::geteuid() == 0;
    if (root) ::setfsuid(65534);
    Asked asked;
    if (root) ::setfsuid(0);
    const TargetEvent event = asked.look(
        {enter(base, "."), enter(base, "closed"), at(base, "closed/f"), enter(base, "closed/inner"),
         at(base, "closed/inner/x"), kLeave, kLeave, kLeave, enter(folder / "closed/inner", "."),
         kLeave, at(folder / "closed/inner", "x"), at(folder / "none", "x")});
    CHECK_FALSE(event.unread.empty());
    CHECK_FALSE(event.error);
    std::vector<bool> failed;
    for (const auto& each : event.standings) failed.push_back(each.error.has_value());
    CHECK(failed == std::vector{false, false, true, true, true, true, true, false});
    std::filesystem::permissions(folder / "closed", std::filesystem::perms(0755));
}

TEST_CASE("target: a link that was named and shows nothing is no place for a directory") {
    const Folder folder;
    std::filesystem::create_directory_symlink("none", folder / "l");
    Asked asked;
    const TargetEvent event = asked.look({enter(folder / "l", "."), kLeave, at(folder / "l", "."),
                                          enter(folder / "none", "."), kLeave});
    CHECK(event.standings[0].error);
    CHECK(event.standings[0].kind == StandingKind::link);
    for (const std::size_t i : {1, 2}) {
        CHECK_FALSE(event.standings[i].error);
        CHECK(event.standings[i].kind == StandingKind::nothing);
    }
}

TEST_CASE("target: what is extraneous and cannot be read stays, and what lies beside it goes") {
    const Folder folder;
    std::filesystem::create_directories(folder / "gone/closed/inner");
    std::filesystem::create_directories(folder / "closed");
    write_file(folder / "gone/before", "x");
    write_file(folder / "gone/zz", "x");
    write_file(folder / "zz", "x");
    std::filesystem::permissions(folder / "", std::filesystem::perms(0755));
    for (const char* name : {"gone/closed", "closed"})
        std::filesystem::permissions(folder / name, std::filesystem::perms(0));
    const bool root = ::geteuid() == 0;
    if (root) ::setfsuid(65534);
    Asked asked;
    if (root) ::setfsuid(0);
    asked.tree.seek_extraneous({}, true);
    const TargetEvent event = asked.look({enter(folder / "", "."), kLeave});
    Names unread;
    for (const Error& error : event.unread) unread.push_back(error.path);
    CHECK(unread == Names{"closed", "gone/closed"});
    CHECK_FALSE(event.error);
    CHECK(asked.tree.extraneous() == 3);
    CHECK(asked.extraneous(false, false) == Names{"gone/before", "gone/zz", "zz"});
    for (const char* name : {"gone/closed", "closed"})
        std::filesystem::permissions(folder / name, std::filesystem::perms(0755));
}

TEST_CASE("target: attributes that were mended are durable when that is said") {
    const Folder folder;
    std::filesystem::create_directories(folder / "d");
    const std::string base = folder / "";
    constexpr int kFiles = 300;
    const auto name = [](int i) { return "d/f" + std::to_string(i); };
    for (int i = 0; i < kFiles; ++i) write_file(folder / name(i), "x");
    write_file(folder / "named", "x");
    Asked asked;
    flushes.single.clear();
    flushes.shared = 0;
    const ports::FileMetadata wanted{1, 1'234'567'890'123'456'789, 0640};
    asked.tree.mend(7, {folder / "named", ""}, wanted, mtime_of(folder / "named"));
    const TargetEvent named = asked.next();
    CHECK(named.tag == 7);
    CHECK_FALSE(named.error);
    CHECK(flushes.single.contains(inode_of(folder / "named")));
    CHECK(flushes.shared == 0);

    flushes.failing = inode_of(folder / name(0));
    asked.tree.mend(8, {base, name(0)}, wanted, mtime_of(folder / name(0)));
    const TargetEvent failed = asked.next();
    REQUIRE(failed.error);
    CHECK(failed.error->message.find("cannot flush") != std::string::npos);
    CHECK(failed.error->path == (folder / name(0)));
    flushes.failing = 0;

    std::set<std::uint64_t> mended;
    // While the first flush takes its time, the others gather, and share one.
    flushes.held = true;
    for (int i = 0; i < kFiles; ++i) {
        asked.tree.mend(static_cast<std::uint64_t>(100 + i), {base, name(i)}, wanted,
                        mtime_of(folder / name(i)));
        if (i > 0) continue;
        std::unique_lock lock(flushes.mutex);
        REQUIRE(flushes.changed.wait_for(lock, 20s, [] { return flushes.waits; }));
    }
    asked.tree.mend(99, {base, "none"}, wanted, 0);
    CHECK(asked.next().tag == 99);
    {
        const std::lock_guard lock(flushes.mutex);
        flushes.held = false;
    }
    flushes.changed.notify_all();
    mended.insert(99);
    const Time limit = Clock().now() + 20s;
    while (mended.size() < kFiles + 1 && Clock().now() < limit) {
        for (const TargetEvent& event : asked.tree.poll()) {
            CHECK_FALSE(event.error);
            CHECK(mended.insert(event.tag).second);
            const std::string path = folder / name(static_cast<int>(event.tag) - 100);
            const std::lock_guard lock(flushes.mutex);
            CHECK((flushes.shared > 0 || flushes.single.contains(inode_of(path))));
            struct stat status {};
            REQUIRE(::stat(path.c_str(), &status) == 0);
            CHECK((status.st_mode & 0777) == 0640);
        }
        if (mended.size() < kFiles + 1) asked.reactor->wait(limit);
    }
    CHECK(mended.size() == kFiles + 1);
    CHECK(flushes.shared > 0);
    CHECK(flushes.single.size() == 2);
}

TEST_CASE("target: what was deleted is durable when that is said, on any file system") {
    for (const bool foreign : {false, true}) {
        const Folder folder;
        std::filesystem::create_directories(folder / "d/goes");
        write_file(folder / "d/goes/x", "x");
        write_file(folder / "y", "x");
        const std::string base = folder / "";
        Asked asked;
        asked.tree.seek_extraneous({}, false);
        asked.look({enter(base, "."), enter(base, "d"), kLeave, kLeave});
        flushes.foreign = foreign;
        flushes.single.clear();
        flushes.shared = 0;
        CHECK(asked.extraneous(false, true).size() == 3);
        CHECK(flushes.shared == (foreign ? 0 : 1));
        CHECK(flushes.single.contains(inode_of(folder / "d")) == foreign);
        CHECK(flushes.single.contains(inode_of(folder / "")) == foreign);
        flushes.foreign = false;
    }
}

TEST_CASE("target: that what was deleted is not durable is said") {
    const Folder folder;
    std::filesystem::create_directories(folder / "d");
    write_file(folder / "d/x", "x");
    const std::string base = folder / "";
    for (const int error_number : {EIO, EINVAL}) {
        write_file(folder / "d/x", "x");
        Asked asked;
        asked.tree.seek_extraneous({}, false);
        asked.look({enter(base, "."), enter(base, "d"), kLeave, kLeave});
        flushes.foreign = true;
        flushes.failing = inode_of(folder / "d");
        flushes.error_number = error_number;
        asked.tree.next_extraneous(false, true);
        CHECK(asked.next().list.size() == 1);
        asked.tree.next_extraneous(false, true);
        // EINVAL: there is no such thing as flushing a directory.
        CHECK(asked.next().error.has_value() == (error_number == EIO));
        flushes.foreign = false;
        flushes.failing = 0;
        flushes.error_number = EIO;
    }
}

TEST_CASE("target: beside what stays no partial file does, but one that is being written") {
    const Folder folder;
    for (const char* name : {"f", "g"}) {
        write_file(folder / name, "whole");
        write_file(folder / partial_name(name), "whole");
    }
    write_file(folder / journal_name(partial_name("f")), "x");
    const Descriptor writer(::open((folder / partial_name("g")).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(writer.get(), LOCK_EX | LOCK_NB) == 0);
    Asked asked;
    for (const char* name : {"f", "g"}) {
        asked.tree.keep(5, {folder / "", name});
        CHECK_FALSE(asked.next().error);
    }
    CHECK(names_in(folder.path()) == Names{partial_name("g"), "f", "g"});
}

TEST_CASE("target: what stays is durable with its name when that is said") {
    const Folder folder;
    std::filesystem::create_directories(folder / "d");
    write_file(folder / "f", "x");
    std::filesystem::create_symlink("f", folder / "l");
    write_file(folder / "d/inside", "x");
    const std::string base = folder / "";
    Asked asked;
    const TargetEvent seen = asked.look({enter(base, "."), enter(base, "d"), at(base, "d/inside"),
                                         kLeave, at(base, "f"), at(base, "l"), kLeave});
    for (const auto& each : seen.standings) CHECK(each.recent);
    CHECK(asked.look({at(folder / "f", ".")}).standings.at(0).recent);
    CHECK_FALSE(asked.look({at(base, "none")}).standings.at(0).recent);

    const auto flushed = [&](const ports::TargetName& target) {
        flushes.single.clear();
        asked.tree.keep(5, target);
        const TargetEvent event = asked.next();
        CHECK(event.kind == TargetEvent::Kind::mended);
        CHECK(event.tag == 5);
        return !event.error;
    };
    CHECK(flushed({base, "d/inside"}));
    CHECK(flushes.single == std::set{inode_of(folder / "d/inside"), inode_of(folder / "d")});
    CHECK(flushed({folder / "f", ""}));
    CHECK(flushes.single == std::set{inode_of(folder / "f"), inode_of(folder / "")});
    CHECK(flushed({base, "l"}));
    CHECK(flushes.single == std::set{inode_of(folder / "")});
    std::filesystem::create_symlink("d/inside", folder / "named");  // by the user: it is followed
    CHECK(flushed({folder / "named", ""}));
    CHECK(flushes.single == std::set{inode_of(folder / "d/inside"), inode_of(folder / "d")});
    CHECK_FALSE(flushed({base, "none"}));
    CHECK_FALSE(flushed({base, "no/such"}));
    CHECK_FALSE(std::filesystem::exists(folder / "no"));
    flushes.failing = inode_of(folder / "d");
    CHECK_FALSE(flushed({base, "d/inside"}));
    flushes.error_number = EINVAL;  // no such thing for directories there; for files there is
    CHECK(flushed({base, "d/inside"}));
    flushes.failing = inode_of(folder / "d/inside");
    CHECK_FALSE(flushed({base, "d/inside"}));
    flushes.failing = 0;
    flushes.error_number = EIO;
}

TEST_CASE("target: levels that are entered leave the spare files alone") {
    constexpr std::size_t kSpare = 60;
    const Folder folder;
    const std::string base = folder / "";
    std::vector<Look> looks{enter(base, ".")};
    std::string name;
    for (int level = 0; level < 400; ++level) {
        name += level == 0 ? "d" : "/d";
        looks.push_back(enter(base, name));
    }
    std::filesystem::create_directories(folder / name);
    const lambda::testing::FewFiles few(320);
    Asked asked;
    keep_files_spare(kSpare);
    const TargetEvent entered = asked.look(std::move(looks));
    std::vector<Descriptor> more;
    while (more.empty() || more.back()) more.emplace_back(::open("/dev/null", O_RDONLY));
    keep_files_spare(0);
    CHECK(more.size() > kSpare / 2);
    REQUIRE(entered.unread.size() == 1);
    CHECK(entered.unread[0].message.find("Too many open files") != std::string::npos);
    CHECK(entered.standings.at(100).kind == StandingKind::directory);
    CHECK(entered.standings.back().error);
}

TEST_CASE("target: where what stands there stays, nothing is in the way") {
    const Folder folder;
    std::filesystem::create_directories(folder / "f/inside");
    Asked asked;
    asked.tree.seek_extraneous({}, false);
    asked.look({enter(folder / "", "."), at(folder / "", "f"), kLeave});
    CHECK(asked.tree.extraneous() == 0);
    CHECK(asked.extraneous(true, true).empty());
    CHECK(std::filesystem::exists(folder / "f/inside"));
}

TEST_CASE("target: thousands that are extraneous, told in portions and removed") {
    const Folder folder;
    std::filesystem::create_directories(folder / "d/e");
    std::filesystem::create_directories(folder / "kept");
    for (int i = 0; i < 3000; ++i) {
        std::ofstream(folder / ("d/e/" + std::string(40, 'n') + std::to_string(i)));
    }
    write_file(folder / "met", "x");
    write_file(folder / "kept/x", "x");
    write_file(folder / "kept/protected", "x");
    const std::string partial = partial_name("met");
    write_file(folder / partial, "of a cut transfer");
    std::filesystem::create_symlink("/etc/passwd", folder / "a link");
    const std::string base = folder / "";
    const auto before = std::filesystem::last_write_time(folder / ".");
    Asked asked;
    asked.tree.seek_extraneous(
        [](const std::string& name, bool) { return name == "kept/protected"; }, true);
    const TargetEvent event = asked.look({enter(base, "."), at(base, "met"), kLeave});
    CHECK(event.standings.size() == 2);
    CHECK(asked.tree.extraneous() == 3000 + 4);
    CHECK(asked.tree.looked() == 3 + 3004 + 2);  // beside what goes: what is kept, and where it is
    CHECK(asked.extraneous(true, true).empty());
    const Names names = asked.extraneous(false, true);
    REQUIRE(names.size() == 3004);
    CHECK(asked.tree.looked() == 3 + 3004 + 2 + 3004);
    CHECK(names.front() == "a link");
    CHECK(names[3001] == "d/e");
    CHECK(names[3002] == "d");
    CHECK(names.back() == "kept/x");
    CHECK_FALSE(std::filesystem::exists(folder / "d"));
    for (const std::string& stays : {std::string("met"), std::string("kept/protected"), partial})
        CHECK(std::filesystem::exists(folder / stays));
    CHECK(std::filesystem::exists("/etc/passwd"));
    CHECK(std::filesystem::last_write_time(folder / ".") == before);
}

TEST_CASE("target: what is only listed stays, and a directory in the way is told apart") {
    const Folder folder;
    std::filesystem::create_directories(folder / "f/inside");
    write_file(folder / "extra", "x");
    const std::string base = folder / "";
    Asked asked;
    asked.tree.seek_extraneous({}, true);
    asked.look({enter(base, "."), at(base, "f"), kLeave});
    CHECK(asked.tree.extraneous() == 3);
    CHECK(asked.extraneous(true, false) == Names{"f/inside", "f"});
    CHECK(asked.extraneous(false, false) == Names{"extra"});
    CHECK(std::filesystem::exists(folder / "f/inside"));
    CHECK(std::filesystem::exists(folder / "extra"));
}

TEST_CASE("target: a file that was met is never removed, in directories of any size") {
    const Folder folder;
    std::vector<Look> looks{enter(folder / "", ".")};
    for (int i = 1000; i < 3000; ++i) {
        const std::string name = "f" + std::to_string(i);
        write_file(folder / name, "x");
        if (i % 3 != 0) looks.push_back(at(folder / "", name));
    }
    looks.push_back(kLeave);
    Asked asked;
    asked.tree.seek_extraneous({}, true);
    asked.look(std::move(looks));
    CHECK(asked.extraneous(false, true).size() == 666);
    CHECK(std::filesystem::exists(folder / "f1000"));
    CHECK_FALSE(std::filesystem::exists(folder / "f1002"));
}

TEST_CASE("target: what is too deep to be named is not removed, and no harm is done") {
    const Folder folder;
    std::filesystem::create_directories(folder / "x");
    int inside = ::open((folder / "x").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Names of 4 times 4,096 bytes, as renames of directories can make them.
    for (int depth = 0; depth < 70; ++depth) {
        const std::string leaf(250, 'd');
        REQUIRE(::mkdirat(inside, leaf.c_str(), 0755) == 0);
        const int next = ::openat(inside, leaf.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ::close(std::exchange(inside, next));
    }
    // Longer than a portion of the spool.
    for (int i = 0; i < 20; ++i) {
        const std::string leaf = std::string(200, 'f') + std::to_string(i);
        ::close(::openat(inside, leaf.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    }
    ::close(inside);
    write_file(folder / "a", "x");
    Asked asked;
    asked.tree.seek_extraneous({}, true);
    const TargetEvent event = asked.look({enter(folder / "", "."), kLeave});
    REQUIRE(event.unread.size() == 1);
    CHECK(event.unread[0].message.find("4096") != std::string::npos);
    CHECK(asked.extraneous(false, false) == Names{"a"});
    CHECK(std::filesystem::exists(folder / "x"));
}

TEST_CASE("target: what a cut transfer left stays, in what is extraneous too") {
    const Folder folder;
    std::filesystem::create_directories(folder / "d/e/empty");
    const std::string partial = "d/e/" + partial_name("f");
    write_file(folder / partial, "of a cut transfer");
    write_file(folder / "d/e/other", "x");
    Asked asked;
    asked.tree.seek_extraneous({}, true);
    asked.look({enter(folder / "", "."), kLeave});
    CHECK(asked.tree.extraneous() == 2);
    CHECK(asked.extraneous(false, true) == Names{"d/e/empty", "d/e/other"});
    CHECK(std::filesystem::exists(folder / partial));
}
