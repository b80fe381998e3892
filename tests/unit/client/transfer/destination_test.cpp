#include "client/transfer/destination.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

TEST_CASE("a put names its target and leaves the rule to the server") {
    const auto one = plan_put({"/x/file", "ann@host:dir/new"});
    REQUIRE(one.ok());
    CHECK(one->server == Server{"ann", "host", 2811});
    CHECK(one->remote_target == "dir/new");
    CHECK(!one->several);
    REQUIRE(one->items.size() == 1);
    CHECK(one->items[0].path == "/x/file");
    CHECK(one->items[0].name == "file");

    const auto several = plan_put({"a", "-b", "lambda://host/dir"});
    REQUIRE(several.ok());
    CHECK(several->several);
    CHECK(several->items[1].name == "-b");
    CHECK(several->remote_target == "/dir");
}

TEST_CASE("a name with a line end is like any other") {
    const auto plan = plan_put({"a", "lambda://host/dir/x%0Ay"});
    REQUIRE(plan.ok());
    CHECK(plan->remote_target == "/dir/x\ny");
    CHECK(plan->items[0].name == "a");
    CHECK(plan_get({"host:x\ny*", "d"})->items[0].pattern);
}

TEST_CASE("a get lands by the local rule") {
    const Scratch scratch;
    const std::string file = scratch.write("file", "");
    const struct {
        std::vector<std::string> operands;
        bool into;
    } cases[] = {
        {{"h:a", scratch / "new"}, false},
        {{"h:a", scratch / "new/"}, true},
        {{"h:a", scratch / ""}, true},
        {{"h:a", scratch / "."}, true},
        {{"h:a", file}, false},
        {{"h:a", "h:b", scratch / "new"}, true},
        {{"h:a", "/dev/null"}, false},
    };
    for (const auto& c : cases) {
        CAPTURE(c.operands.back());
        const auto plan = plan_get(c.operands);
        REQUIRE(plan.ok());
        CHECK(plan->local_target.path == c.operands.back());
        CHECK(plan->local_target.into_directory == c.into);
        CHECK(plan->items[0].path == "a");
    }
}

TEST_CASE("what looks remote but exists here is local") {
    const Scratch scratch;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(scratch / "");
    scratch.write("12:30.log", "");
    const auto plan = plan_put({"12:30.log", "h:"});
    std::filesystem::current_path(before);
    REQUIRE(plan.ok());
    CHECK(plan->items[0].path == "12:30.log");
}

TEST_CASE("what a list names is local, though it is gone and looks remote") {
    const std::vector<std::string> operands{"2026-01-01T10:00:00.log", "lambda://h/%", "h:"};
    CHECK(plan_put(operands).error().fault == Fault::usage);
    const auto plan = plan_put(operands, true);
    REQUIRE(plan.ok());
    for (std::size_t i = 0; i < 2; ++i) CHECK(plan->items[i].path == operands[i]);
    CHECK(plan_put({"a", "b"}, true).error().fault == Fault::usage);
}

TEST_CASE("places on the wrong side and two servers are usage errors") {
    for (const auto& operands :
         std::vector<std::vector<std::string>>{{"a", "b"}, {"h:a", "h:b"}, {"a", "lambda://h/%"}}) {
        CAPTURE(operands[0]);
        const auto plan = plan_put(operands);
        REQUIRE(!plan.ok());
        CHECK(plan.error().fault == Fault::usage);
    }
    for (const auto& operands :
         std::vector<std::vector<std::string>>{{"a", "b"}, {"h:a", "h:b"}, {"h:a", "i:b", "d"}}) {
        CAPTURE(operands[0]);
        const auto plan = plan_get(operands);
        REQUIRE(!plan.ok());
        CHECK(plan.error().fault == Fault::usage);
    }
}

TEST_CASE("what stands at a server is written from its root on, however a transfer calls it") {
    const auto there = [](Plan plan, const char* name, bool into = false) {
        return path_there(plan, into, name);
    };
    const Plan one = *plan_put({"/proc/self/status", "h:d/x"});
    CHECK(there(one, "status") == "/d/x");
    CHECK(there(one, "status", true) == "/d/x/status");
    CHECK(there(one, "status/f") == "/d/x/f");
    const Plan two = *plan_put({"/proc/self/status", "/proc/self/fd", "lambda://h/d/"});
    CHECK(there(two, "fd/1", true) == "/d/fd/1");
    const Plan contents = *plan_put({"/proc/self/fd/", "h:d"});
    CHECK(there(contents, "1", true) == "/d/1");
    const Plan got = *plan_get({"h:runs/a", "h:b/", "h:c/*", "/nowhere"});
    CHECK(there(got, "a") == "/runs/a");
    CHECK(there(got, "a/f") == "/runs/a/f");
    CHECK(there(got, "runs/a") == "/runs/a");
    CHECK(there(*plan_get({"h:b/", "/nowhere"}), "f") == "/b/f");
    const Plan mixed = *plan_get({"h:src/size/", "h:src/nope", "/nowhere"});
    CHECK(there(mixed, "nope") == "/src/nope");
    CHECK(there(mixed, "f") == "/src/size/f");
    CHECK(there(*plan_get({"h:b/", "h:c/", "/nowhere"}), "f") == "f");
    CHECK(there(*plan_get({"h:x/a", "h:y/a", "/nowhere"}), "a/f") == "a/f");
    CHECK(there(*plan_get({"h:x/a", "h:x/a", "/nowhere"}), "a/f") == "/x/a/f");
    CHECK(there(*plan_get({"h:c/*", "/nowhere"}), "f") == "/c/f");
    CHECK(there(*plan_get({"h:/c/*", "/nowhere"}), "/c/*") == "/c/*");  // that matched nothing
    CHECK(there(*plan_get({"h:*/c", "/nowhere"}), "f") == "f");
    CHECK(there(*plan_get({"h:c/*", "/nowhere"}), "/d/f") == "/d/f");  // whatever the pattern
}
