#include "server/known_logins.h"

#include "tests/support/catch.h"

namespace lambda::server {

constexpr Time kStart{std::chrono::hours(1)};

TEST_CASE("a login is known by its password, for a while, and by no other") {
    KnownLogins logins;
    CHECK_FALSE(logins.knows("stored", "secret", kStart));
    logins.add("stored", "secret", kStart);
    CHECK(logins.knows("stored", "secret", kStart));
    CHECK_FALSE(logins.knows("stored", "Secret", kStart));
    CHECK_FALSE(logins.knows("stored", "", kStart));
    CHECK_FALSE(logins.knows("stored anew", "secret", kStart));
    const Time end = kStart + KnownLogins::kLife;
    CHECK(logins.knows("stored", "secret", end - Duration{1}));
    CHECK_FALSE(logins.knows("stored", "secret", end));
    logins.add("stored", "secret", end);
    CHECK(logins.knows("stored", "secret", end));
}

TEST_CASE("of a login whose time is over nothing is kept") {
    KnownLogins logins;
    logins.add("old", "secret", kStart);
    logins.add("new", "secret", kStart + KnownLogins::kLife);
    CHECK(logins.size() == 1);
}

TEST_CASE("known logins are bounded, and those that are over give way") {
    KnownLogins logins;
    for (std::size_t i = 0; i < KnownLogins::kMost; ++i) {
        logins.add(std::to_string(i), "secret", kStart + Duration{i % 2});
    }
    logins.add("one more", "secret", kStart);
    CHECK(logins.size() == KnownLogins::kMost);
    CHECK_FALSE(logins.knows("one more", "secret", kStart));
    logins.add("7", "secret", kStart + KnownLogins::kLife);  // anew
    logins.add("one more", "secret", kStart + KnownLogins::kLife);
    CHECK(logins.size() == KnownLogins::kMost / 2 + 1);
    CHECK(logins.knows("one more", "secret", kStart + KnownLogins::kLife));
    CHECK(logins.knows("7", "secret", kStart + KnownLogins::kLife));
}

}  // namespace lambda::server
