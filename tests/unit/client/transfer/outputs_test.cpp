#include "client/transfer/outputs.h"

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

using namespace lambda;
using namespace lambda::client;

namespace {

// As after the command line: the outputs are absolute.
bool refuses(const Result<Plan>& plan, const std::string& receipt, const std::string& left_over,
             std::vector<transfer::Rule> rules = {}) {
    Arguments arguments;
    arguments.receipt = receipt;
    arguments.left_over = left_over;
    arguments.walk.rules = std::move(rules);
    REQUIRE(plan.ok());
    const auto checked = check_outputs(*plan, arguments);
    if (checked) return false;
    CHECK(checked.error().fault == Fault::usage);
    return true;
}

}  // namespace

TEST_CASE("neither receipt nor list takes the place of what is moved") {
    const Scratch scratch;
    const std::string file = scratch.write("file", "data");
    const std::string tree = scratch / "tree", other = scratch / "other";
    std::filesystem::create_directories(tree + "/sub");
    const std::string within = scratch.write("tree/sub/within", "data");
    std::filesystem::create_symlink(within, scratch / "link");
    std::filesystem::create_hard_link(file, scratch / "second");

    const auto put = plan_put({file, "h:"});
    for (const std::string& same : {file, scratch / "tree/../file", scratch / "second"}) {
        CAPTURE(same);
        CHECK(refuses(put, same, {}));
        CHECK(refuses(put, {}, same));
    }
    CHECK_FALSE(refuses(put, other, within));
    CHECK(refuses(put, other, other));
    CHECK_FALSE(refuses(put, "/dev/null", "/dev/null"));

    for (const auto& plan :
         {plan_put({tree, "h:"}), plan_put({tree + "/", "h:"}), plan_sync({tree, "h:x"})}) {
        CHECK(refuses(plan, within, {}));
        CHECK(refuses(plan, {}, scratch / "link"));
        CHECK(refuses(plan, within, {}, {{false, "*.o"}}));
        CHECK_FALSE(refuses(plan, within, {}, {{false, "within"}}));
        CHECK_FALSE(refuses(plan, within, {}, {{false, "sub/"}}));
        CHECK_FALSE(refuses(plan, tree + "/fresh", file));
    }
    CHECK_FALSE(refuses(plan_put({tree, "h:"}), within, {}, {{false, "/tree/sub/within"}}));

    CHECK(refuses(plan_get({"h:x", other}), other, {}));
    CHECK(refuses(plan_get({"h:x", other}), {}, other));
    CHECK(refuses(plan_get({"h:fresh", tree}), {}, tree + "/fresh"));
    CHECK_FALSE(refuses(plan_get({"h:x", tree}), within, {}));
}
