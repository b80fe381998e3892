#include "client/replicate/overlap.h"

#include "tests/support/catch.h"

namespace lambda::client::replicate {
namespace {

const std::vector<SourceRoot> kRoots{{.text = "s1/", .path = "/s1/", .name = "."},
                                     {.text = "s2/runs", .path = "/s2/runs", .name = "runs"}};

Entry entry(std::uint32_t root, const char* name, Kind kind = Kind::file, std::uint32_t mode = 0) {
    return {.root = root, .name = name, .standing = {.kind = kind, .mode = mode}};
}
using Names = std::vector<std::pair<std::uint32_t, std::string>>;
Names kept(const Listing& listing) {
    Names all;
    for (const Entry& each : listing.entries) all.emplace_back(each.root, each.name);
    return all;
}
Names missed(const Listing& listing) {
    Names all;
    for (const Missed& each : listing.missed) all.emplace_back(each.root, each.name);
    return all;
}

TEST_CASE("a file or link that two sources have is the first one's") {
    const Kind kind = GENERATE(Kind::file, Kind::link);
    Listing listing{.entries = {entry(0, ".", Kind::directory), entry(0, "a"),
                                entry(0, "runs", Kind::directory, 1), entry(0, "runs/x", kind),
                                entry(1, "runs", Kind::directory, 2), entry(1, "runs/x"),
                                entry(1, "runs/y", kind)},
                    .missed = {}};
    drop_overlaps(listing, kRoots);
    CHECK(kept(listing) == Names{{0, "."}, {0, "a"}, {0, "runs"}, {0, "runs/x"}, {1, "runs/y"}});
    REQUIRE(missed(listing) == Names{{1, "runs/x"}});
    CHECK(listing.missed[0].error.sentence().find("would land where '/s1/runs/x' does") !=
          std::string::npos);
    CHECK(listing.missed[0].error.path == "/s2/runs/x");
}

TEST_CASE("contents may come second; their directory's attributes count") {
    const std::vector<SourceRoot> roots{kRoots[1], kRoots[0]};
    Listing listing{
        .entries = {entry(0, "runs", Kind::directory, 2), entry(0, "runs/x"),
                    entry(1, ".", Kind::directory), entry(1, "runs", Kind::directory, 1),
                    entry(1, "runs/x"), entry(1, "runs/z")},
        .missed = {}};
    drop_overlaps(listing, roots);
    CHECK(kept(listing) == Names{{0, "runs/x"}, {1, "."}, {1, "runs"}, {1, "runs/z"}});
    CHECK(missed(listing) == Names{{1, "runs/x"}});
}

TEST_CASE("a directory that would land on a file goes with all that it holds") {
    Listing listing{
        .entries = {entry(0, ".", Kind::directory), entry(0, "runs"),
                    entry(1, "runs", Kind::directory), entry(1, "runs/deep", Kind::directory),
                    entry(1, "runs/deep/x"), entry(1, "runs/y")},
        .missed = {}};
    drop_overlaps(listing, kRoots);
    CHECK(kept(listing) == Names{{0, "."}, {0, "runs"}});
    CHECK(missed(listing) == Names{{1, "runs"}});
}

TEST_CASE("names that begin alike do not overlap, nor do sources with a name each") {
    Listing listing{.entries = {entry(0, "runs2/x"), entry(0, "run"), entry(1, "runs/x")},
                    .missed = {}};
    drop_overlaps(listing, kRoots);
    CHECK(listing.entries.size() == 3);
    listing.entries = {entry(0, "runs/x"), entry(1, "runs/x")};
    drop_overlaps(listing,
                  {{.text = {}, .path = {}, .name = "a"}, {.text = {}, .path = {}, .name = "b"}});
    CHECK(listing.entries.size() == 2);
    CHECK(listing.missed.empty());
}

}  // namespace
}  // namespace lambda::client::replicate
