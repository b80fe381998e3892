// What a walk found is met where it was found, or not at all.
#include "common/io/file/source_names.h"
#include "common/io/reactor.h"

#include <fcntl.h>

#include "common/io/disk/content_reader.h"
#include "common/io/tree/tree_walker.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

// tree/z/{small,large}, and the same names in secret.
struct Trees {
    Folder folder;
    Trees() {
        for (const char* place : {"tree", "secret"})
            std::filesystem::create_directories(folder / (std::string(place) + "/z"));
        write_file(folder / "tree/z/small", "mine");
        write_file(folder / "secret/z/small", "root's");
        write_file(folder / "tree/z/large", std::string(70'000, 'm'));
        write_file(folder / "secret/z/large", std::string(70'000, 'r'));
    }
    void swap() const {
        std::filesystem::rename(folder / "tree/z", folder / "tree/zz");
        std::filesystem::create_symlink("../secret/z", folder / "tree/z");
    }
};

std::vector<ports::SourceFile> walk(Root root, const std::string& path, ports::Links links) {
    const auto reactor = std::move(Reactor::make().value());
    const auto walker = std::move(TreeWalker::make(std::move(root), *reactor).value());
    walker->set_options({.links = links});
    REQUIRE(walker->add({.path = path, .name = "."}));
    walker->no_more();
    std::vector<ports::Found> all;
    for (const Time limit = Clock().now() + 20s; !walker->ended() && Clock().now() < limit;) {
        const std::size_t before = all.size();
        walker->take(all, 100);
        if (all.size() == before && !walker->ended()) reactor->wait(limit);
    }
    std::vector<ports::SourceFile> files;
    for (const ports::Found& each : all) {
        if (each.kind == ports::Found::Kind::file)
            files.push_back(
                {.path = each.path, .follow = each.follow, .named = each.named, .id = each.id});
    }
    return files;
}

}  // namespace

TEST_CASE("source: a directory that became a link since the walk is not followed") {
    const Trees trees;
    const Folder& folder = trees.folder;
    const bool jailed = GENERATE(false, true);
    const auto root = [&] {
        return jailed ? *Root::jail(folder.path(), true, false) : Root::machine();
    };
    // The user may name it through a link.
    std::filesystem::create_symlink("tree", folder / "named");
    const std::string named = jailed ? "named/" : folder / "named";
    const auto files = walk(root(), named, ports::Links::keep);
    REQUIRE(files.size() == 2);  // large, small

    Harness disk(true, root());
    const auto open = [&](const ports::SourceFile& file) {
        disk.disk->open_source(disk.next_tag, file, kGrain);
        return disk.one();
    };
    const DiskEvent large = open(files[0]);
    REQUIRE_FALSE(large.error);
    CHECK(open(files[1]).content->size() == 4);
    const auto look = [&] {
        disk.disk->check_source(disk.next_tag, large.file);
        return disk.one();
    };
    CHECK_FALSE(look().removed);
    trees.swap();
    CHECK(look().removed);
    for (const ports::SourceFile& file : files) {
        const DiskEvent refused = open(file);
        REQUIRE(refused.error);
        CHECK(refused.error->path == file.path);
        CHECK(refused.error->message ==
              "cannot open: a link took its place, or that of a directory that it is in");
    }

    const auto reactor = std::move(Reactor::make().value());
    const auto reader = std::move(ContentReader::make(root(), *reactor).value());
    reader->read(1, files[0], kGrain, [](Range, ByteView) { FAIL("it was read"); });
    std::vector<ports::ContentRead> ended;
    for (const Time limit = Clock().now() + 20s; ended.empty() && Clock().now() < limit;) {
        reactor->wait(limit);
        ended = reader->poll();
    }
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].error);
}

TEST_CASE("source: what took the place of a file with further names is not sent for it") {
    const Folder folder;
    std::filesystem::create_directories(folder / "tree");
    write_file(folder / "tree/alone", "old");
    write_file(folder / "tree/one", "old");
    std::filesystem::create_hard_link(folder / "tree/one", folder / "tree/other");
    const auto files = walk(Root::machine(), folder / "tree", ports::Links::keep);
    REQUIRE(files.size() == 2);
    const Root root = Root::machine();
    const SourceNames names(root);
    CHECK(names.open(files[1], O_RDONLY));
    for (const ports::SourceFile& file : files) {
        write_file(folder / "new", "another");
        std::filesystem::rename(folder / "new", file.path);
    }
    CHECK(names.open(files[0], O_RDONLY));
    const auto opened = names.open(files[1], O_RDONLY);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().path == folder / "tree/one");
}

TEST_CASE("source: where links are followed, they are") {
    const Trees trees;
    trees.swap();
    const auto files = walk(Root::machine(), trees.folder / "tree", ports::Links::follow);
    REQUIRE(files.size() == 4);  // by the link, and where they were moved to
    Harness disk(true);
    disk.disk->open_source(disk.next_tag, files[1], kGrain);
    CHECK(disk.one().content->size() == 6);
}

TEST_CASE("source: several bases, each with names of its own") {
    const Trees trees;
    const Root root = Root::machine();
    const SourceNames names(root);
    for (const std::string place : {"tree", "secret", "tree"}) {
        const std::string path = trees.folder / (place + "/z/small");
        const auto opened = names.open(
            {.path = path, .follow = false, .named = (trees.folder / place).size()}, O_RDONLY);
        REQUIRE(opened);
        char first = 0;
        REQUIRE(::pread(opened->get(), &first, 1, 0) == 1);
        CHECK(first == (place == "tree" ? 'm' : 'r'));
    }
}
