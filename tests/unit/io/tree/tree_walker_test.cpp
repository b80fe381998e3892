#include "common/io/tree/tree_walker.h"
#include "common/io/file/partial_name.h"
#include "common/io/reactor.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;
using ports::Found;

namespace {

std::vector<Found> walk_all(Root root, const std::vector<ports::WalkRoot>& roots,
                            ports::WalkOptions options = {}) {
    auto reactor = std::move(Reactor::make().value());
    const auto made = TreeWalker::make(std::move(root), *reactor);
    TreeWalker& walker = **made;
    walker.set_options(std::move(options));
    for (const ports::WalkRoot& start : roots) REQUIRE(walker.add(start));
    walker.no_more();
    std::vector<Found> all;
    const Time limit = Clock().now() + 20s;
    while (!walker.ended() && Clock().now() < limit) {
        const std::size_t before = all.size();
        walker.take(all, 7);
        if (all.size() == before && !walker.ended()) reactor->wait(limit);
    }
    REQUIRE(walker.ended());
    return all;
}

std::vector<Found> walk(Root root, const ports::WalkRoot& start, ports::WalkOptions options = {}) {
    return walk_all(std::move(root), {start}, std::move(options));
}

// "d NAME", "f NAME", ...; "." for a leave.
std::vector<std::string> words(const std::vector<Found>& all) {
    std::vector<std::string> texts;
    for (const Found& found : all) {
        const char letter = "fd.l=s!"[static_cast<int>(found.kind)];
        texts.push_back(std::string(1, letter) +
                        (found.kind == Found::Kind::leave ? "" : " " + found.name) +
                        (found.text.empty() ? "" : " > " + found.text));
    }
    return texts;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("walk: what a cut transfer left in a tree is skipped, and none of its own") {
    const Folder folder;
    std::filesystem::create_directories(folder / "src");
    const std::string partial = partial_name("b");
    write_file(folder / ("src/" + partial), "old");
    write_file(folder / ("src/" + journal_name(partial)), "old");
    write_file(folder / "src/b", "new");
    const std::string why = " > it is a part of what a transfer writes or left when it was cut";
    CHECK(words(walk(Root::machine(), {.path = folder / "src", .name = "src"})) ==
          Words{"d src", "s src/" + journal_name(partial) + why, "s src/" + partial + why,
                "f src/b", "."});
    CHECK(words(walk(Root::machine(), {.path = folder / ("src/" + partial), .name = partial})) ==
          Words{"! " + partial});
}

TEST_CASE("walk: a directory whose name is too long for the tree is not entered") {
    const Folder folder;
    std::filesystem::create_directories(folder / "src");
    Descriptor at(::open((folder / "src").c_str(), O_RDONLY | O_DIRECTORY));
    const std::string leaf(250, 'x');
    for (int i = 0; i < 18; ++i) {
        REQUIRE(::mkdirat(at.get(), leaf.c_str(), 0755) == 0);
        at = Descriptor(::openat(at.get(), leaf.c_str(), O_RDONLY | O_DIRECTORY));
    }
    const auto all = walk(Root::machine(), {.path = folder / "src", .name = "src"});
    const auto entered = [](const Found& found) { return found.kind == Found::Kind::directory; };
    CHECK(std::count_if(all.begin(), all.end(), entered) == 17);
    CHECK(std::count_if(all.begin(), all.end(),
                        [](const Found& found) { return found.kind == Found::Kind::failed; }) == 1);
}

TEST_CASE("walk: a tree is entered so deep and no deeper, by a pattern too") {
    const Folder folder;
    std::filesystem::create_directories(folder / "src");
    Descriptor at(::open((folder / "src").c_str(), O_RDONLY | O_DIRECTORY));
    std::string pattern = folder / "s*";
    for (unsigned level = 0; level < TreeWalker::kDeepest + 10; ++level) {
        REQUIRE(::mkdirat(at.get(), "d", 0700) == 0);
        at = Descriptor(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY));
        pattern += level < 100 ? "/?" : "";
    }
    const auto levels = [&](const ports::WalkRoot& start) {
        const auto all = walk(Root::machine(), start);
        REQUIRE_FALSE(all.empty());
        const auto is_failed = [](const Found& found) { return found.kind == Found::Kind::failed; };
        const auto failed = std::find_if(all.begin(), all.end(), is_failed);
        REQUIRE(failed != all.end());
        CHECK(failed->error.message == "lies more than 512 levels deep");
        CHECK(std::count_if(all.begin(), all.end(), is_failed) == 1);
        return std::count_if(all.begin(), all.end(), [](const Found& found) {
            return found.kind == Found::Kind::directory;
        });
    };
    CHECK(levels({.path = folder / "src", .name = "src"}) == TreeWalker::kDeepest);
    CHECK(levels({.path = pattern, .name = "d", .pattern = true}) < TreeWalker::kDeepest - 100);
}

TEST_CASE("walk: a tree in the order of its bytes, links and further names as they are") {
    const Folder folder;
    std::filesystem::create_directories(folder / "src/b/deep");
    std::filesystem::create_directories(folder / "src/a.d");
    write_file(folder / "src/a", "1");
    write_file(folder / "src/b/\n\xff", "2");
    write_file(folder / "src/-z", "3");
    std::filesystem::create_symlink("/no/where", folder / "src/b/link");
    std::filesystem::create_hard_link(folder / "src/a", folder / "src/b/same");
    REQUIRE(::mkfifo((folder / "src/pipe").c_str(), 0600) == 0);
    const auto found = walk(Root::machine(), {.path = folder / "src", .name = "src"});
    CHECK(words(found) == Words{"d src", "f src/-z", "f src/a", "d src/a.d", ".", "d src/b",
                                "f src/b/\n\xff", "d src/b/deep", ".", "l src/b/link > /no/where",
                                "= src/b/same > src/a", ".", "s src/pipe > it is a pipe", "."});
    CHECK(found[1].path == folder / "src/-z");
    CHECK(found[1].metadata.size == 1);
    const auto contents = walk(Root::machine(), {.path = folder / "src/b", .name = "."});
    CHECK(words(contents) ==
          Words{"d .", "f \n\xff", "d deep", ".", "l link > /no/where", "f same", "."});
    CHECK(words(walk(Root::machine(), {.path = folder / "src/a", .name = "a"})) == Words{"f a"});
    CHECK(words(walk(Root::machine(), {.path = folder / "none", .name = "none"})) ==
          Words{"! none"});
}

TEST_CASE("walk: links followed or left out, and circles found") {
    const Folder folder;
    std::filesystem::create_directories(folder / "src/d");
    write_file(folder / "src/d/f", "1");
    std::filesystem::create_symlink("d", folder / "src/to");
    std::filesystem::create_symlink("..", folder / "src/d/up");
    std::filesystem::create_symlink("nowhere", folder / "src/none");
    ports::WalkOptions options{.links = ports::Links::follow};
    CHECK(words(walk(Root::machine(), {.path = folder / "src", .name = "s"}, options)) ==
          Words{"d s", "d s/d", "f s/d/f", "! s/d/up", ".", "! s/none", "d s/to", "f s/to/f",
                "! s/to/up", ".", "."});
    options.links = ports::Links::skip;
    CHECK(words(walk(Root::machine(), {.path = folder / "src", .name = "s"}, options)) ==
          Words{"d s", "d s/d", "f s/d/f", ".", "."});
    // A jail is never left, whoever asks for it.
    std::filesystem::create_symlink(folder / "src/d", folder / "src/d/absolute");
    std::filesystem::create_symlink("../../src/d/f", folder / "src/d/out");
    options.links = ports::Links::follow;
    Root jail = std::move(Root::jail(folder / "src/d", false, false).value());
    CHECK(words(walk(std::move(jail), {.path = "/", .name = "."}, options)) ==
          Words{"d .", "! absolute", "f f", "! out", "! up", "."});
}

TEST_CASE("walk: a file whose attributes cannot be read fails, where all of them are asked for") {
    const Folder folder;
    write_file(folder / "f", "x");
    write_file(folder / "plain", "x");
    if (::setxattr((folder / "f").c_str(), "user.key", "v", 1, 0) != 0) return;
    std::filesystem::permissions(folder / "", std::filesystem::perms(0755));
    std::filesystem::permissions(folder / "f", std::filesystem::perms(0));
    // The walk's thread is nobody, for root may read everything.
    const bool root = ::geteuid() == 0;
    for (const bool archive : {true, false}) {
        if (root) ::setfsuid(65534);
        const auto found = walk(Root::machine(), {.path = folder / "", .name = "."},
                                {.archive = archive, .file_metadata = true});
        if (root) ::setfsuid(0);
        CHECK(words(found) == Words{"d .", archive ? "! f" : "f f", "f plain", "."});
    }
}

TEST_CASE("walk: what is left out is not entered") {
    const Folder folder;
    std::filesystem::create_directories(folder / "src/no");
    write_file(folder / "src/no/f", "1");
    write_file(folder / "src/yes", "1");
    std::vector<std::string> asked;
    ports::WalkOptions options;
    options.excluded = [&](const std::string& name, bool directory) {
        asked.push_back(name);
        return directory && name == "s/no";
    };
    CHECK(words(walk(Root::machine(), {.path = folder / "src", .name = "s"}, options)) ==
          Words{"d s", "f s/yes", "."});
    CHECK(asked == Words{"s", "s/no", "s/yes"});
}

TEST_CASE("walk: what lands where an earlier root's does fails, and directories become one") {
    const Folder folder;
    std::filesystem::create_directories(folder / "a/d/e");
    std::filesystem::create_directories(folder / "b/d");
    std::filesystem::create_directories(folder / "b/file");
    write_file(folder / "a/d/one", "1");
    write_file(folder / "a/d/left-out", "1");
    write_file(folder / "a/file", "1");
    write_file(folder / "b/d/e", "2");
    write_file(folder / "b/d/left-out", "2");
    write_file(folder / "b/d/two", "2");
    write_file(folder / "b/file/below", "2");
    REQUIRE(::mkfifo((folder / "a/d/three").c_str(), 0600) == 0);
    write_file(folder / "b/d/three", "2");
    const ports::WalkRoot a{.path = folder / "a", .name = "."};
    const ports::WalkRoot b{.path = folder / "b", .name = "."};
    const ports::WalkOptions options{
        .excluded = [](const std::string& name, bool) { return name.ends_with("left-out"); }};
    const auto both = walk_all(Root::machine(), {a, b}, options);
    CHECK(words(both) == Words{"d .", "d d", "d d/e", ".", "f d/one", "s d/three > it is a pipe",
                               ".", "f file", ".", "d .", "d d", "! d/e", "f d/three", "f d/two",
                               ".", "! file", "."});
    CHECK(both[11].error.message == "would land where '" + (folder / "a/d/e") + "' does");
    CHECK(both[11].path == folder / "b/d/e");
    // By name and in contents, either first; the same once more is dropped.
    const ports::WalkRoot named{.path = folder / "b/d", .name = "d"};
    CHECK(words(walk_all(Root::machine(), {named, a})) ==
          Words{"d d", "f d/e", "f d/left-out", "f d/three", "f d/two", ".", "d .", "d d", "! d/e",
                "! d/left-out", "f d/one", "s d/three > it is a pipe", ".", "f file", "."});
    CHECK(words(walk_all(Root::machine(), {b, named})) ==
          Words{"d .", "d d", "f d/e", "f d/left-out", "f d/three", "f d/two", ".", "d file",
                "f file/below", ".", ".", "d d", "."});
    const ports::WalkRoot pattern{.path = folder / "[ab]/file", .name = "", .pattern = true};
    CHECK(words(walk_all(Root::machine(), {pattern})) == Words{"f file", "! file"});
}

// Its number may be that of another file by then.
TEST_CASE("walk: what changed since it was found has no further name of that") {
    const Folder folder;
    std::filesystem::create_directories(folder / "src");
    for (const std::string first : {"a", "b"}) write_file(folder / ("src/" + first), "1");
    for (const std::string name : {"n", "o"})
        std::filesystem::create_hard_link(folder / "src/a", folder / ("src/" + name));
    std::filesystem::create_hard_link(folder / "src/b", folder / "src/p");
    ports::WalkOptions options;
    options.excluded = [&](const std::string& name, bool) {
        if (name == "s/b") write_file(folder / "src/a", "22");
        return false;
    };
    CHECK(words(walk(Root::machine(), {.path = folder / "src", .name = "s"}, options)) ==
          Words{"d s", "f s/a", "f s/b", "f s/n", "= s/o > s/n", "= s/p > s/b", "."});
}

TEST_CASE("walk: what was found before is met where it was, or not at all") {
    const Folder folder;
    for (const std::string place : {"tree/a", "else"}) {
        std::filesystem::create_directories(folder / place);
        write_file(folder / (place + "/file"), "1");
    }
    std::filesystem::create_symlink(folder / "tree", folder / "named");
    const auto file = [&](const std::string& below) {
        return ports::WalkRoot{.path = folder / ("named/" + below),
                               .name = "file",
                               .named = (folder / "named").size()};
    };
    const auto met = walk(Root::machine(), file("a/file"), {.archive = true});
    REQUIRE(words(met) == Words{"f file"});
    CHECK_FALSE(met[0].follow);
    CHECK(met[0].named == (folder / "named").size());
    std::filesystem::create_directory_symlink(folder / "else", folder / "tree/b");
    std::filesystem::create_symlink(folder / "else/file", folder / "tree/a/link");
    for (const std::string below : {"b/file", "a/link", "a", "a/none"}) {
        for (const bool archive : {false, true})
            CHECK(words(walk(Root::machine(), file(below), {.archive = archive})) ==
                  Words{"! file"});
    }
}

TEST_CASE("walk: what stands under a pattern has its name, whatever slashes follow") {
    const Folder folder;
    std::filesystem::create_directories(folder / "t");
    write_file(folder / "t/x", "x");
    const auto jail = [&] { return std::move(Root::jail(folder.path(), true, false).value()); };
    const auto twice = [&](const std::string& path) {
        const ports::WalkRoot root{.path = path, .name = "t", .pattern = true};
        return words(walk_all(jail(), {root, root}));
    };
    for (const std::string path : {"t", "/t/", "t//", "/?/"})
        CHECK(twice(path) == Words{"d t", "f t/x", ".", "d t", "."});
    const ports::WalkRoot top{.path = "/", .name = "t", .pattern = true};
    CHECK(words(walk(jail(), top)) == Words{"d .", "d t", "f t/x", ".", "."});
}

TEST_CASE("walk: patterns find what stands there") {
    const Folder folder;
    std::filesystem::create_directories(folder / "one/in");
    std::filesystem::create_directories(folder / "other");
    write_file(folder / "one/in/x.c", "1");
    write_file(folder / "one/a.c", "1");
    write_file(folder / "one/.c", "1");
    write_file(folder / "other/b.c", "1");
    const auto jail = [&] { return std::move(Root::jail(folder.path(), true, false).value()); };
    CHECK(words(walk(jail(), {.path = "o*/[ab].c", .name = {}, .pattern = true})) ==
          Words{"f a.c", "f b.c"});
    CHECK(words(walk(jail(), {.path = "/on?", .name = {}, .pattern = true})) ==
          Words{"d one", "f one/.c", "f one/a.c", "d one/in", "f one/in/x.c", ".", "."});
    CHECK(words(walk(jail(), {.path = "../*", .name = {}, .pattern = true})).front()[0] == '!');
    CHECK(words(walk(jail(), {.path = "*.none", .name = {}, .pattern = true})) ==
          Words{"! *.none"});
}

TEST_CASE("walk: a tree that is removed while it is walked is an error") {
    const Folder folder;
    std::filesystem::create_directory(folder / "top");
    // More than a walker is ahead.
    for (int i = 0; i < 5000; ++i) write_file(folder / ("top/" + std::to_string(i)), "");
    auto reactor = std::move(Reactor::make().value());
    const auto walker = std::move(TreeWalker::make(Root::machine(), *reactor).value());
    REQUIRE(walker->add({.path = folder / "top", .name = "top"}));
    walker->no_more();
    std::vector<Found> all;
    const Time limit = Clock().now() + 20s;
    while (all.empty() && Clock().now() < limit) {
        walker->take(all, 1);
        if (all.empty()) reactor->wait(limit);
    }
    // It stands then till more are taken, with the others before it.
    while (walker->looked() <= TreeWalker::kMostFound && Clock().now() < limit)
        std::this_thread::yield();
    std::filesystem::remove_all(folder / "top");
    while (!walker->ended() && Clock().now() < limit) {
        const std::size_t before = all.size();
        walker->take(all, 100);
        if (all.size() == before && !walker->ended()) reactor->wait(limit);
    }
    CHECK(std::any_of(all.begin(), all.end(), [](const Found& found) {
        return found.kind == Found::Kind::failed && found.name == "top";
    }));
}
