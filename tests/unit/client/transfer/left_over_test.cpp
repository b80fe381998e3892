#include "client/transfer/left_over.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client {

namespace {

// A put of these, into a directory.
Plan plan_of(std::initializer_list<const char*> sources) {
    Plan plan;
    for (const std::string source : sources) {
        plan.items.push_back(
            {.argument = source, .path = source, .name = source.substr(source.rfind('/') + 1)});
    }
    return plan;
}

mover::Outcome cut_after(std::vector<std::string> done) {
    mover::Outcome outcome;
    outcome.cut.emplace();
    outcome.done = std::move(done);
    return outcome;
}

}  // namespace

TEST_CASE("a next try leaves out what is done or failed") {
    Plan plan = plan_of({"d1/a", "d2/b", "c"});
    mover::Outcome outcome = cut_after({"a"});
    outcome.failures.push_back({.name = "b", .error = {}});
    CHECK(undone(plan, cut_after({"a"})) == std::vector<std::string>{"d2/b", "c"});
    REQUIRE(drop_settled(plan, outcome));
    REQUIRE(plan.items.size() == 1);
    CHECK(plan.items[0].argument == "c");
}

TEST_CASE("what another transfer writes is left to be done") {
    Plan plan = plan_of({"a", "b", "c"});
    mover::Outcome outcome = cut_after({"a"});
    outcome.add_failure("b", Error{.fault = Fault::cut, .message = {}, .path = {}, .remedy = {}});
    outcome.add_failure("c", Error{.fault = Fault::file, .message = {}, .path = {}, .remedy = {}});
    REQUIRE(drop_settled(plan, outcome));
    REQUIRE(plan.items.size() == 1);
    CHECK(plan.items[0].argument == "b");
}

TEST_CASE("of two sources of one name nobody can tell which is done") {
    Plan plan = plan_of({"d1/a", "d2/a", "d2/b"});
    CHECK_FALSE(drop_settled(plan, cut_after({"a"})));
    CHECK(plan.items.size() == 3);
    CHECK(undone(plan, cut_after({"a"})) == std::vector<std::string>{"d1/a", "d2/a", "d2/b"});
}

TEST_CASE("of one source that was not done to its end it is left over") {
    Plan plan = plan_of({"h:d/runs"});
    plan.direction = session::Direction::get;
    mover::Outcome outcome;
    CHECK(undone(plan, outcome).empty());
    // The server called it a directory: what it holds, and by its names.
    outcome.add_failure("sub/f", Error{.message = {}, .path = {}, .remedy = {}});
    CHECK(undone(plan, outcome) == std::vector<std::string>{"h:d/runs"});
    CHECK(undone(plan, cut_after({"sub/f"})) == std::vector<std::string>{"h:d/runs"});
}

TEST_CASE("a list that cannot be kept is called by what it is") {
    const Error lost = write_left_over("/proc/none/list", {"one"}).error();
    CHECK_THAT(lost.message, Catch::StartsWith("the list of what was not done is lost: "));
    CHECK_THAT(lost.remedy, Catch::Contains("--left-over"));
    CHECK(lost.path.starts_with("/proc/none"));
}

TEST_CASE("left-over files: each its own, and the newest hundred stay") {
    const Scratch scratch;
    ::setenv("XDG_STATE_HOME", (scratch / "").c_str(), 1);
    const std::filesystem::path kept = scratch / "lambda-ftp";
    std::filesystem::create_directories(kept);
    std::ofstream(kept / "known_hosts") << "not one of them\n";
    for (int i = 0; i < 120; ++i) {
        std::ofstream(kept / ("left-over-20200101T0000" + std::to_string(100 + i) + "Z-1"))
            << "old";
    }
    const auto written = write_left_over("", {"one", "two"});
    ::unsetenv("XDG_STATE_HOME");
    REQUIRE(written);
    std::ifstream in(*written, std::ios::binary);
    CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == std::string("one\0two\0", 8));
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(kept)) ++count;
    CHECK(count == 101);
    CHECK(std::filesystem::exists(kept / "known_hosts"));
    CHECK(std::filesystem::exists(kept / "left-over-20200101T0000219Z-1"));
    CHECK_FALSE(std::filesystem::exists(kept / "left-over-20200101T0000120Z-1"));
}

}  // namespace lambda::client
