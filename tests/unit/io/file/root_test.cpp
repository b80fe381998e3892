#include "common/io/file/root.h"

#include <sys/stat.h>

#include "tests/support/catch.h"
#include "tests/unit/io/net/loopback.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

struct Jail {
    Folder folder;
    std::string inside = folder / "jail";

    Jail() {
        std::filesystem::create_directories(inside + "/a/b");
        write_file(folder / "secret", "secret");
        write_file(inside + "/a/file", "inside");
        std::filesystem::create_symlink("../secret", inside + "/out");
        std::filesystem::create_symlink(folder / "secret", inside + "/absolute");
        std::filesystem::create_symlink("..", inside + "/up");
        std::filesystem::create_symlink("a/file", inside + "/within");
        std::filesystem::create_symlink("/proc/self/root", inside + "/magic");
    }
    Root root(bool read_only = false) const { return Root::jail(inside, read_only, false).value(); }
};

}  // namespace

TEST_CASE("root: a jail's names begin at its directory") {
    const Jail jail;
    const Root root = jail.root();
    for (const std::string name :
         {"a/file", "/a/file", "//a/file", "a/b/../file", "within", "./a/file"}) {
        INFO(name);
        CHECK(root.open(name, O_RDONLY).ok());
        CHECK(root.stat(name, true).ok());
    }
    CHECK(S_ISDIR(root.stat("/", true)->st_mode));
    CHECK(S_ISLNK(root.stat("within", false)->st_mode));
    CHECK(Root(root).open("a/file", O_RDONLY).ok());
}

TEST_CASE("root: why a directory far above cannot be made is told") {
    const auto system = Root::jail("/sys", false, false);  // where nobody makes one
    REQUIRE(system.ok());
    for (const std::string name : {"new/file", "new/deep/file", "new/deep/deeper/file"}) {
        const auto place = system->place(name, true);
        REQUIRE_FALSE(place.ok());
        CHECK(place.error().message.starts_with("cannot make its directory"));
        CHECK(place.error().path == name);
    }
}

TEST_CASE("root: no name leads out of a jail") {
    const Jail jail;
    const Root root = jail.root();
    const std::string absolute = jail.folder / "secret";
    for (const std::string& name :
         {std::string("../secret"), std::string("/../secret"), std::string("a/../../secret"),
          absolute, std::string("out"), std::string("absolute"), std::string("up/secret"),
          std::string("magic"), std::string("magic/etc/passwd"),
          std::string("a/file\0/../../secret", 20), std::string()}) {
        INFO(name);
        const auto opened = root.open(name, O_RDONLY);
        REQUIRE_FALSE(opened.ok());
        CHECK(opened.error().path == name);
        CHECK(opened.error().fault == Fault::file);
        CHECK(opened.error().sentence().find(jail.inside) == std::string::npos);
        CHECK_FALSE(root.stat(name, true).ok());
    }
    for (const std::string name : {"../new", "up/new", "up/deep/new", "a/../../new"}) {
        INFO(name);
        CHECK_FALSE(root.place(name, true).ok());
        CHECK_FALSE(root.make_directory(name).ok());
        CHECK_FALSE(root.remove_file(name).ok());
        CHECK_FALSE(root.rename("a/file", name).ok());
        CHECK_FALSE(root.open(name, O_WRONLY | O_CREAT, 0600).ok());
    }
    CHECK_FALSE(root.remove_file("up/secret").ok());
    CHECK(read_file(jail.folder / "secret") == "secret");
    CHECK_FALSE(std::filesystem::exists(jail.folder / "new"));
}

TEST_CASE("root: links as such are removed and renamed, never what they show") {
    const Jail jail;
    const Root root = jail.root();
    CHECK(root.rename("out", "still-out").ok());
    CHECK(root.remove_file("still-out").ok());
    CHECK(read_file(jail.folder / "secret") == "secret");
}

TEST_CASE("root: nothing is renamed to what a transfer keeps beside a file") {
    const Jail jail;
    const std::string hash(32, '0');
    for (const char* kind : {".part", ".parts", ".ranges", ".journal"}) {
        const std::string name = "a/.lambda-" + hash + kind;
        INFO(name);
        const auto renamed = jail.root().rename("a/file", name);
        REQUIRE_FALSE(renamed.ok());
        CHECK(renamed.error().path == name);
        CHECK_FALSE(renamed.error().remedy.empty());
    }
    write_file(jail.inside + "/.lambda-" + hash + ".part", "left");
    CHECK(jail.root().rename(".lambda-" + hash + ".part", "a/taken").ok());
}

TEST_CASE("root: a slash behind a name means a directory") {
    const Folder folder;
    const Root root = Root::machine();
    write_file(folder / "file", "kept");
    write_file(folder / "new", "new");
    std::filesystem::create_symlink("directory", folder / "link");
    CHECK(root.make_directory(folder / "directory/").ok());
    for (const char* name : {"file/", "link/", "directory/", "nothing/"}) {
        INFO(name);
        CHECK_FALSE(root.remove_file(folder / name).ok());
        CHECK_FALSE(root.rename(folder / "new", folder / name).ok());
    }
    CHECK(read_file(folder / "file") == "kept");
    CHECK(read_file(folder / "new") == "new");
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK(root.rename(folder / "directory/", folder / "renamed/").ok());
    CHECK(std::filesystem::is_directory(folder / "renamed"));
}

TEST_CASE("root: of two names of one file a rename leaves the new one") {
    const Folder folder;
    const Root root = Root::machine();
    write_file(folder / "old", "x");
    std::filesystem::create_hard_link(folder / "old", folder / "new");
    CHECK(root.rename(folder / "old", folder / "new").ok());
    CHECK_FALSE(std::filesystem::exists(folder / "old"));
    CHECK(read_file(folder / "new") == "x");
    CHECK(root.rename(folder / "new", folder / "./new").ok());
    CHECK(read_file(folder / "new") == "x");
    const auto elsewhere = root.rename(folder / "new", "/proc/new");
    REQUIRE_FALSE(elsewhere.ok());
    CHECK(elsewhere.error().message.find("root") == std::string::npos);
}

TEST_CASE("root: places make their directories") {
    const Jail jail;
    const Root root = jail.root();
    CHECK_FALSE(root.place("x/y/z/file", false).ok());
    const auto place = root.place("/x/y//z/file", true);
    REQUIRE(place.ok());
    CHECK(place->leaf == "file");
    CHECK(std::filesystem::is_directory(jail.inside + "/x/y/z"));
    CHECK(root.place("./u/./././v/.//w", true).ok());
    CHECK(root.place("/./u2/./w", true).ok());
    CHECK(std::filesystem::is_directory(jail.inside + "/u/v"));
    CHECK(std::filesystem::is_directory(jail.inside + "/u2"));
    CHECK_FALSE(root.place("u3/../w", true).ok());
    CHECK_FALSE(root.place("a/file/below", true).ok());
    CHECK_FALSE(root.place("a/file/./below", true).ok());
    CHECK_FALSE(root.place("/", true).ok());
    CHECK_FALSE(root.place("a/..", true).ok());
    CHECK(root.make_directory("made/").ok());
    CHECK_FALSE(root.make_directory("made").ok());
    CHECK(root.remove_directory("made/").ok());
    CHECK_FALSE(root.remove_directory("a").ok());
    CHECK_FALSE(root.remove_file("a").ok());
}

TEST_CASE("root: a read-only account changes nothing") {
    const Jail jail;
    const Root root = jail.root(true);
    CHECK(root.open("a/file", O_RDONLY).ok());
    const auto opened = root.open("a/file", O_RDWR);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().message == "this account may only read");
    CHECK_FALSE(root.open("new", O_RDONLY | O_CREAT, 0600).ok());
    CHECK_FALSE(root.place("x/new", true).ok());
    CHECK_FALSE(root.make_directory("x").ok());
    CHECK_FALSE(root.remove_file("a/file").ok());
    CHECK_FALSE(root.remove_directory("a/b").ok());
    CHECK_FALSE(root.rename("a/file", "b").ok());
    CHECK_FALSE(Root(root).make_directory("x").ok());
    CHECK(read_file(jail.inside + "/a/file") == "inside");
}

TEST_CASE("root: the machine's names are as the shell gave them") {
    const Folder folder;
    const Root root = Root::machine();
    write_file(folder / "file", "x");
    CHECK(root.open(folder / "file", O_RDONLY).ok());
    CHECK(root.open(folder / "../" + folder.path().substr(5) + "/file", O_RDONLY).ok());
    CHECK_FALSE(root.open("", O_RDONLY).ok());
    CHECK_FALSE(Root::jail(folder / "file", false, false).ok());
    CHECK_FALSE(Root::jail(folder / "missing", false, false).ok());
}

TEST_CASE("root: a lease on a file is waited for, a pipe is not") {
    const Folder folder;
    write_file(folder / "f", "content");
    std::filesystem::create_symlink("f", folder / "link");
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    const Root jail = std::move(Root::jail(folder.path(), false, false).value());
    const Root machine = Root::machine();
    for (const char* name : {"f", "link"}) {
        for (const bool jailed : {true, false}) {
            const Lease lease(folder / "f");
            const auto opened = jailed ? jail.open(name, O_RDONLY | O_NONBLOCK)
                                       : machine.open(folder / name, O_RDONLY | O_NONBLOCK);
            REQUIRE(opened);
            char c = 0;
            CHECK(::read(opened->get(), &c, 1) == 1);
        }
    }
    CHECK(jail.open("pipe", O_RDONLY | O_NONBLOCK));
    CHECK_FALSE(jail.open("link", O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
}
