#include "common/base/result.h"

#include <cerrno>
#include <memory>

#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("a result is a value or an error") {
    Result<std::unique_ptr<int>> good(std::make_unique<int>(4));
    REQUIRE(good.ok());
    const std::unique_ptr<int> moved = std::move(good).value();
    CHECK(*moved == 4);

    const Result<std::unique_ptr<int>> bad(Error{.message = "no", .path = {}, .remedy = {}});
    CHECK_FALSE(bad);
    CHECK(bad.error().message == "no");
    CHECK(Result<void>().ok());
    CHECK_FALSE(Result<void>(Error{}).ok());
}

TEST_CASE("an error is one sentence: where, what, why, what to do") {
    CHECK(Error{.message = "cannot write", .path = "/a", .remedy = "free some space"}.sentence() ==
          "/a: cannot write; free some space");
    CHECK(Error{.message = "cannot write", .path = "a", .side = Side::remote, .remedy = {}}
              .sentence() == "a (on the server): cannot write");
    CHECK(Error{.message = "no route", .path = {}, .remedy = {}}.sentence() == "no route");
    CHECK(errno_error(Fault::file, "cannot open", "/x", ENOENT).sentence() ==
          "/x: cannot open: No such file or directory");
}
