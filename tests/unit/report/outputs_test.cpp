#include "common/report/outputs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::report;

namespace fs = std::filesystem;

TEST_CASE("of two outputs none takes the other's place") {
    std::string folder = (fs::temp_directory_path() / "lambda-outputs-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    const std::string none, file = folder + "/file", other = folder + "/other";
    std::ofstream(file) << "content";
    fs::create_hard_link(file, folder + "/second");
    fs::create_symlink("file", folder + "/link");
    const std::string fresh = folder + "/fresh", null = "/dev/null";
    const std::string far = folder + "/missing/fresh",
                      far_too = folder + "/missing/../missing/fresh";

    const auto apart = [](const std::string& one, const std::string& another) {
        const auto checked = check_apart({{"--csv", one}, {"--json", {}}, {"--report", another}});
        if (checked) return true;
        CHECK(checked.error().fault == Fault::usage);
        CHECK(checked.error().path == another);
        CHECK(checked.error().message.find("--csv and --report are one file") == 0);
        CHECK_FALSE(checked.error().remedy.empty());
        return false;
    };
    CHECK(apart(file, other));
    CHECK(apart(fresh, other));
    CHECK(apart(none, none));
    CHECK(apart(file, none));
    CHECK(apart(null, null));
    CHECK_FALSE(apart(file, file));
    CHECK_FALSE(apart(file, folder + "/second"));
    CHECK_FALSE(apart(folder + "/link", file));
    CHECK_FALSE(apart(fresh, folder + "/./fresh"));
    CHECK_FALSE(apart(far, far_too));
    const fs::path before = fs::current_path();
    fs::current_path(folder);
    CHECK_FALSE(apart("fresh", fresh));
    CHECK_FALSE(apart("./file", file));
    fs::current_path(before);
    fs::remove_all(folder);
}
