// A state in PostgreSQL, where the database is set up otherwise, hangs, or takes no writes, and
// what is said of its URI.
#include "tests/unit/client/replicate/stores.h"

namespace lambda::client::replicate {
namespace {

TEST_CASE("no password of a URI is shown, however it is malformed") {
    if (!to_be_had(true)) return;
    for (const char* uri :
         {"postgresql://m:p%zzs3cr@127.0.0.1:1/d", "postgresql://m:p/s3cr@127.0.0.1:1/d",
          "postgresql://m:s3cr/p@127.0.0.1:1/d", "postgresql://m:p@s3cr@127.0.0.1:1/d",
          "postgresql://m:p\"s3cr%zz@127.0.0.1:1/d",
          "postgresql://m@127.0.0.1:1/d?password=%zzs3cr", "postgresql://m:s3cr@[::1/d",
          "postgresql://m:s3cr@127.0.0.1:1/d?none=x@y"}) {
        const auto opened = PostgresDatabase::open(uri, {});
        REQUIRE_FALSE(opened.ok());
        CAPTURE(uri, opened.error().sentence());
        CHECK(opened.error().fault == Fault::usage);
        CHECK(opened.error().sentence().find("s3cr") == std::string::npos);
    }
    const auto nobody =
        PostgresDatabase::open("postgresql://m%40n:s%2F3@127.0.0.1:1/d%40?user=a@b", {});
    REQUIRE_FALSE(nobody.ok());
    CHECK(nobody.error().fault == Fault::session);
}

}  // namespace
}  // namespace lambda::client::replicate
