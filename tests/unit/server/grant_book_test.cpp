#include "server/copy/grant_book.h"

#include "tests/support/catch.h"

namespace lambda::server {
namespace {

constexpr Time kStart{std::chrono::hours(1)};

const Accounts kAccounts{{"ann", {.password = "as it is stored", .root = "", .read_only = false}}};

Grant grant_for(const std::string& peer, std::chrono::seconds life, std::string account = "ann") {
    session::GrantRequest request;
    request.peer = peer;
    request.life = life;
    request.path = "/data";
    return {.account = std::move(account),
            .password = "as it is stored",
            .request = std::move(request)};
}

}  // namespace

TEST_CASE("a grant serves once") {
    GrantBook book;
    REQUIRE(book.add("token", grant_for("peer", std::chrono::seconds(60)), kStart));
    const auto claimed = book.claim("token", "peer", kAccounts, kStart);
    REQUIRE(claimed);
    CHECK(claimed->account == "ann");
    CHECK(claimed->request.path == "/data");
    CHECK_FALSE(book.claim("token", "peer", kAccounts, kStart));
    CHECK(book.size() == 0);
}

TEST_CASE("what an account granted it may give back, and has room for another") {
    GrantBook book;
    constexpr std::chrono::seconds kLife{60};
    for (std::size_t i = 0; i < GrantBook::kMostOfAccount; ++i)
        REQUIRE(book.add("token " + std::to_string(i), grant_for("peer", kLife), kStart));
    CHECK_FALSE(book.add("more", grant_for("peer", kLife), kStart));
    CHECK_FALSE(book.drop("token 7", "bob"));
    CHECK_FALSE(book.drop("token", "ann"));
    CHECK(book.drop("token 7", "ann"));
    CHECK_FALSE(book.drop("token 7", "ann"));
    CHECK_FALSE(book.claim("token 7", "peer", kAccounts, kStart));
    Grant again = grant_for("peer", kLife);
    again.request.again = kLife;
    REQUIRE(book.add("more", again, kStart));
    REQUIRE(book.claim("more", "peer", kAccounts, kStart));
    book.begin("more", 1);
    CHECK_FALSE(book.drop("more", "ann"));
    book.end("more", false, kStart);
    CHECK(book.drop("more", "ann"));
}

TEST_CASE("a grant that may be presented again lives on from each time, until it is done") {
    GrantBook book;
    Grant grant = grant_for("peer", std::chrono::seconds(5));
    grant.request.again = std::chrono::seconds(60);
    REQUIRE(book.add("token", grant, kStart));
    REQUIRE(book.add("late", grant, kStart));
    Time now = kStart;
    for (int i = 0; i < 3; ++i) {
        CHECK(book.claim("token", "peer", kAccounts, now));
        CHECK_FALSE(book.claim("token", "other", kAccounts, now));
        now += std::chrono::seconds(59);
    }
    CHECK_FALSE(book.claim("late", "peer", kAccounts, now));  // nobody came for it
    book.begin("token", 1);
    book.end("token", true, now);
    book.end("token", true, now);
    CHECK_FALSE(book.claim("token", "peer", kAccounts, now));
    CHECK(book.size() == 0);
}

TEST_CASE("of a grant that may be presented again one transfer runs at a time") {
    using Turn = GrantBook::Turn;
    GrantBook book;
    constexpr auto kAgain = std::chrono::seconds(60);
    Grant grant = grant_for("peer", std::chrono::seconds(5));
    grant.request.again = kAgain;
    REQUIRE(book.add("token", grant, kStart));
    REQUIRE(book.claim("token", "peer", kAccounts, kStart));
    REQUIRE(book.claim("token", "peer", kAccounts, kStart));  // two sessions hold it
    CHECK(book.turn("token", kStart) == Turn::free);
    book.begin("token", 7);
    CHECK(book.turn("token", kStart) == Turn::taken);
    CHECK(book.running("token") == 7U);
    // However long it runs: the peer may come back after a cut.
    Time now = kStart + 10 * kAgain;
    REQUIRE(book.claim("token", "peer", kAccounts, now));
    CHECK(book.turn("token", now) == Turn::taken);
    now += 10 * kAgain;
    book.end("token", false, now);
    CHECK(book.turn("token", now) == Turn::free);
    CHECK_FALSE(book.running("token"));
    now += kAgain - Duration{1};
    REQUIRE(book.claim("token", "peer", kAccounts, now));
    book.begin("token", 8);
    book.end("token", true, now);
    CHECK(book.turn("token", now) == Turn::over);  // also for those that hold it
    CHECK(book.size() == 0);
}

TEST_CASE("a grant that may be presented again ends with its week, however often it was") {
    using Turn = GrantBook::Turn;
    GrantBook book;
    constexpr auto kAgain = session::kLongestAgain;
    Grant grant = grant_for("peer", std::chrono::seconds(5));
    grant.request.again = kAgain;
    REQUIRE(book.add("token", grant, kStart));
    REQUIRE(book.add("runs", grant, kStart));
    const Time last = kStart + GrantBook::kLongestInAll;
    REQUIRE(book.claim("runs", "peer", kAccounts, kStart));
    book.begin("runs", 7);
    REQUIRE(book.claim("token", "peer", kAccounts, kStart));
    REQUIRE(book.claim("token", "peer", kAccounts, last - Duration{1}));
    CHECK(book.turn("token", last - Duration{1}) == Turn::free);
    CHECK(book.turn("token", last) == Turn::over);  // for who presented it in time, too
    CHECK_FALSE(book.claim("token", "peer", kAccounts, last));
    CHECK_FALSE(book.claim("runs", "peer", kAccounts, last));
    CHECK(book.running("runs") == 7U);  // what began in time, ends by itself
    book.end("runs", false, last);
    CHECK_FALSE(book.claim("runs", "peer", kAccounts, last));
    CHECK(book.size() == 0);
}

TEST_CASE("a grant is void once its account is gone or has another password") {
    GrantBook book;
    Grant grant = grant_for("peer", std::chrono::seconds(60));
    REQUIRE(book.add("once", grant, kStart));
    grant.request.again = std::chrono::seconds(60);
    REQUIRE(book.add("again", grant, kStart));
    REQUIRE(book.claim("again", "peer", kAccounts, kStart));
    Accounts other = kAccounts;
    other["ann"].password = "as another one is stored";
    const Time later = kStart + std::chrono::seconds(59);
    for (const char* token : {"once", "again"}) {
        for (const Accounts& now : {other, Accounts{}}) {
            const auto refused = book.claim(token, "peer", now, later);
            REQUIRE_FALSE(refused);
            CHECK(refused.error().fault == Fault::session);
        }
        CHECK(book.claim(token, "peer", kAccounts, later));
    }
}

TEST_CASE("a grant serves its peer alone, and others do not spend it") {
    GrantBook book;
    REQUIRE(book.add("token", grant_for("peer", std::chrono::seconds(60)), kStart));
    for (const char* other : {"", "pee", "peer2", "Peer"}) {
        const auto refused = book.claim("token", other, kAccounts, kStart);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().fault == Fault::session);
    }
    CHECK_FALSE(book.claim("toke", "peer", kAccounts, kStart));
    CHECK(book.claim("token", "peer", kAccounts, kStart));
}

TEST_CASE("a grant ends with its time") {
    GrantBook book;
    constexpr auto kLife = std::chrono::seconds(60);
    REQUIRE(book.add("one", grant_for("peer", kLife), kStart));
    REQUIRE(book.add("two", grant_for("peer", kLife), kStart));
    CHECK(book.claim("one", "peer", kAccounts, kStart + kLife - Duration{1}));
    CHECK_FALSE(book.claim("two", "peer", kAccounts, kStart + kLife));
    CHECK(book.size() == 0);
}

TEST_CASE("the book is bounded, for each account and in all") {
    GrantBook book;
    const auto fill = [&](const std::string& account, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto added =
                book.add(account + std::to_string(i),
                         grant_for("peer", std::chrono::seconds(60), account), kStart);
            if (!added) return i;
        }
        return count;
    };
    CHECK(fill("ann", GrantBook::kMostOfAccount + 1) == GrantBook::kMostOfAccount);
    for (int i = 0; book.size() < GrantBook::kMost; ++i) {
        fill("user" + std::to_string(i) + "-", GrantBook::kMostOfAccount);
    }
    CHECK_FALSE(book.add("more", grant_for("peer", std::chrono::seconds(60), "bob"), kStart));
    // Late ones make room.
    const Time later = kStart + std::chrono::seconds(60);
    CHECK(book.add("more", grant_for("peer", std::chrono::seconds(60), "bob"), later));
    CHECK(book.size() == 1);
}

TEST_CASE("the names of one account's grants leave room for others'") {
    GrantBook book;
    const auto add = [&](const std::string& account, std::size_t number) {
        Grant grant = grant_for("peer", std::chrono::seconds(60), account);
        grant.request.names.assign(1000, std::string(400, 'x'));
        return book.add(account + std::to_string(number), std::move(grant), kStart).ok();
    };
    std::size_t most = 0;
    while (add("ann", most)) ++most;
    CHECK(most > 0);
    CHECK(most < GrantBook::kMostOfAccount);
    for (std::size_t number = 0; number < most; ++number) CHECK(add("bob", number));
    CHECK_FALSE(add("bob", most));
    REQUIRE(book.claim("ann0", "peer", kAccounts, kStart));
    CHECK(add("ann", most));
}

}  // namespace lambda::server
