#include "client/replicate/plan.h"

#include "common/transfer/filter.h"
#include "tests/support/catch.h"

namespace lambda::client::replicate {
namespace {

constexpr auto kPut = session::Direction::put;
const Standing kFile{.kind = Kind::file, .size = 10, .mtime_ns = 1000, .mode = 0644};

std::string item(const Standing& source, const std::optional<Standing>& there,
                 Which which = Which::all, Conflict conflict = Conflict::replace) {
    const Decision decision = decide(source, there, which, conflict);
    return decision.change == Change::none ? "" : itemised(decision, source.kind, kPut);
}

Standing with(Standing standing, std::uint64_t size, std::int64_t mtime_ns) {
    standing.size = size;
    standing.mtime_ns = mtime_ns;
    return standing;
}

TEST_CASE("a file is compared by size and time") {
    CHECK(item(kFile, std::nullopt) == "<f+++++++++");
    CHECK(item(kFile, kFile).empty());
    CHECK(item(kFile, with(kFile, 11, 1000)) == "<f.s.......");
    CHECK(item(kFile, with(kFile, 10, 999)) == "<f..t......");
    CHECK(item(kFile, with(kFile, 9, 1001)) == "<f.st......");
    Standing other = kFile;
    other.mode = 0600;
    CHECK(item(kFile, other) == ".f...p.....");
    CHECK(item(kFile, other, Which::missing).empty());
    other.mode = 04644;  // no receiver sets it for another owner
    CHECK(item(kFile, other).empty());
    const Decision decision = decide(kFile, std::nullopt, Which::all, Conflict::replace);
    CHECK(itemised(decision, Kind::file, session::Direction::get) == ">f+++++++++");
}

TEST_CASE("what exists, what is missing, and what is newer there can be let alone") {
    const Standing newer = with(kFile, 12, 2000);
    CHECK(item(kFile, newer, Which::missing).empty());
    CHECK(item(kFile, std::nullopt, Which::missing) == "<f+++++++++");
    CHECK(item(kFile, std::nullopt, Which::existing).empty());
    CHECK(item(kFile, newer, Which::all, Conflict::keep).empty());
    CHECK(item(kFile, newer, Which::all, Conflict::fail) == "*refused   ");
    CHECK(item(kFile, with(kFile, 12, 900), Which::all, Conflict::fail) == "<f.st......");
}

TEST_CASE("what cannot be seen there is not taken for nothing") {
    const There hidden = std::make_shared<const Error>(Error{
        .fault = Fault::file, .message = "no", .path = "d", .side = Side::remote, .remedy = {}});
    for (const auto& [which, conflict] : {std::pair{Which::missing, Conflict::replace},
                                          {Which::existing, Conflict::replace},
                                          {Which::all, Conflict::keep},
                                          {Which::all, Conflict::fail}}) {
        const Decision spared = decide(kFile, hidden, which, conflict);
        CHECK(spared.change == Change::refuse);
        CHECK(spared.why.find("d (on the server): no") != std::string::npos);
    }
    const Decision tried = decide(kFile, hidden, Which::all, Conflict::replace);
    CHECK(tried.change == Change::create);
    CHECK(tried.why == "what stands there cannot be seen");
    CHECK(decide({.kind = Kind::directory}, hidden, Which::missing, Conflict::keep).change ==
          Change::create);
}

TEST_CASE("directories and links") {
    Standing directory{.kind = Kind::directory, .size = 0, .mtime_ns = 5, .mode = 0755};
    CHECK(item(directory, std::nullopt) == "cd+++++++++");
    CHECK(item(directory, std::nullopt, Which::existing) == "cd+++++++++");
    CHECK(item(directory, directory).empty());
    Standing other = directory;
    other.mtime_ns = 6;
    CHECK(item(directory, other) == ".d..t......");
    other.mode = 0700;
    CHECK(item(directory, other) == ".d..tp.....");
    other = directory;
    other.mode = 02755;  // the receiver's own, by the directory around it
    CHECK(item(directory, other).empty());
    const Standing link{.kind = Kind::link, .size = 0, .mtime_ns = 5, .mode = 0777};
    CHECK(item(link, std::nullopt) == "cL+++++++++");
    CHECK(item(link, link).empty());
    CHECK(item(link, kFile) == "cL..t......");
    CHECK(item(kFile, link) == "<f.st......");
}

TEST_CASE("a directory is never put in a file's place, nor a file in a directory's") {
    const Standing directory{.kind = Kind::directory};
    CHECK(item(kFile, directory) == "*refused   ");
    CHECK(item(directory, kFile) == "*refused   ");
    CHECK(item(directory, Standing{.kind = Kind::link}) == "*refused   ");
}

TEST_CASE("a plan has what is to be done and counts what is as it should be") {
    Listing source;
    source.entries = {{.root = 0, .name = "a", .standing = kFile},
                      {.root = 0, .name = "b", .standing = kFile}};
    const SitePlan plan = plan_site(source, {kFile, std::nullopt}, Which::all, Conflict::replace);
    REQUIRE(plan.steps.size() == 1);
    CHECK(plan.steps[0].entry == 1);
    CHECK(plan.same.files == 1);
    CHECK(plan.same.bytes == 10);
    CHECK(plan.left.files == 0);
}

TEST_CASE("what the job leaves alone is not as it should be") {
    Listing source;
    for (const char* name : {"a", "b", "c"})
        source.entries.push_back({.root = 0, .name = name, .standing = kFile});
    Standing newer = kFile;
    ++newer.size;
    newer.mtime_ns += 5'000'000'000;
    for (const auto& [which, conflict, left] : {std::tuple{Which::existing, Conflict::replace, 1u},
                                                {Which::missing, Conflict::replace, 1u},
                                                {Which::all, Conflict::keep, 1u},
                                                {Which::existing, Conflict::keep, 2u}}) {
        const SitePlan plan = plan_site(source, {kFile, newer, std::nullopt}, which, conflict);
        CHECK(plan.same.files == 1);
        CHECK(plan.left.files == left);
        CHECK(plan.left.bytes == 10 * left);
        CHECK(plan.steps.size() == 2 - left);
    }
}

TEST_CASE("what lies below a directory that cannot stand there is refused") {
    Listing source;
    const Standing directory{.kind = Kind::directory};
    for (const char* name : {"d", "d2", "d/e", "d2/x", "d/e/x"}) {
        const bool file = std::string_view(name).ends_with('x');
        source.entries.push_back({.root = 0, .name = name, .standing = file ? kFile : directory});
    }
    source.entries.push_back({.root = 1, .name = "d/e", .standing = kFile});
    std::vector<There> there(source.entries.size());
    there[0] = kFile;
    const SitePlan plan = plan_site(source, there, Which::all, Conflict::replace);
    std::vector<std::uint32_t> refused;
    for (const auto& step : plan.steps)
        if (step.decision.change == Change::refuse) refused.push_back(step.entry);
    CHECK(refused == std::vector<std::uint32_t>{0, 2, 4});
}

TEST_CASE("tidying meets directories and the links that are named, and nothing else") {
    const std::vector<transfer::Rule> rules{{false, "/secret/"}, {true, "*.c"},  {true, "deep/***"},
                                            {false, "*.o"},      {true, "src/"}, {false, "/no*/"}};
    const transfer::Filter user(rules);
    const transfer::Filter tidy(rules_of_tidying(rules, {"a/link", "a/odd[1]*\\name"}));
    for (const char* directory :
         {"a", "a/b", "secret", "deep", "deep/x", "src", "nothing", "x.o"}) {
        CAPTURE(directory);
        CHECK(tidy.excludes(directory, true) == user.excludes(directory, true));
    }
    for (const char* file : {"a/x.c", "x.o", "a/b/y", "deep/x/file", "a/links", "b/link"}) {
        CAPTURE(file);
        CHECK(tidy.excludes(file, false));
    }
    CHECK_FALSE(tidy.excludes("a/link", false));
    CHECK_FALSE(tidy.excludes("a/odd[1]*\\name", false));
    CHECK(tidy.excludes("a/odd1\\name", false));
}

TEST_CASE("a large file is cut into ranges that cover it, on the grain of a stage") {
    CHECK(ranges_of(0, 8 * MiB).empty());
    CHECK(ranges_of(8 * MiB, 8 * MiB).empty());
    for (const std::uint64_t size :
         {8 * MiB + 1, 64 * MiB, 64 * MiB - 1, 5000 * GiB, 90'000'000 * GiB}) {
        for (const std::uint64_t most : {1 * MiB, 8 * MiB, 8 * MiB + 7}) {
            if (size <= most) continue;
            const auto ranges = ranges_of(size, most);
            CAPTURE(size, most, ranges.size());
            CHECK(ranges.size() <= kMostRanges);
            std::uint64_t next = 0;
            for (const Range range : ranges) {
                CHECK(range.first == next);
                CHECK(fits_stage(range, size));
                next = range.last;
            }
            CHECK(next == size);
        }
    }
}

TEST_CASE(
    "another version of a file has another stage, and the name is one that a stage may have") {
    const Site site{.text = "ann@store:x", .server = {}, .path = {}};
    Standing standing{.size = 5, .mtime_ns = 7};
    const std::string name = stage_name("1-2", site, "a/b", standing);
    CHECK(is_stage_name(name));
    CHECK(name == stage_name("1-2", site, "a/b", standing));
    CHECK(name != stage_name("1-3", site, "a/b", standing));
    CHECK(name != stage_name("1-2", site, "a/c", standing));
    standing.mtime_ns = 8;
    CHECK(name != stage_name("1-2", site, "a/b", standing));
}

TEST_CASE("movers whose jobs spell a destination differently meet on one stage") {
    const auto job_with = [](const std::string& place) {
        const auto job =
            parse_job("sources: /data/\ndestinations: '" + place + "'\n", "/j.yaml", {});
        REQUIRE(job.ok());
        return *job;
    };
    const Job one = job_with("ann@store:/data");
    const Job other = job_with("lambda://ann@store/data");
    REQUIRE(one.sites[0].text != other.sites[0].text);
    REQUIRE(one.shape() == other.shape());
    const Standing standing{.size = 5, .mtime_ns = 7};
    CHECK(stage_name("1-2", one.sites[0], "f", standing) ==
          stage_name("1-2", other.sites[0], "f", standing));
    CHECK(stage_name("1-2", one.sites[0], "f", standing) !=
          stage_name("1-2", job_with("bob@store:/data").sites[0], "f", standing));
}

}  // namespace
}  // namespace lambda::client::replicate
