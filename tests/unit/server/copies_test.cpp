// Copies that fail to dial.
#include "server/copy/copies.h"

#include <chrono>
#include <semaphore>

#include "common/io/completions.h"
#include "server/state.h"
#include "tests/support/loopback_port.h"
#include "tests/unit/server/temporary.h"

namespace lambda::server {
namespace {

io::TlsContext identity(const TemporaryDirectory& scratch) {
    REQUIRE(ensure_certificate(scratch / "cert.pem", scratch / "key.pem").ok());
    return *io::TlsContext::server(scratch / "cert.pem", scratch / "key.pem", "");
}

config::ServerSettings settings_for_many() {
    config::ServerSettings settings;
    settings.copy_hosts = {"127.0.0.1"};
    settings.transfers_max = 1000;
    settings.memory = 64 * GiB;
    return settings;
}

struct Conducting {
    Conducting()
        : transfers(settings, 1, [](const std::function<void()>&) {}),
          copies(settings, tls, transfers, [this](std::function<void()> run) {
              static_cast<void>(posted.put(std::move(run)));
              more.release();
          }) {}
    ~Conducting() { copies.abandon(); }

    std::variant<std::uint64_t, session::Reply> begin(const std::string& account) {
        session::CopyRequest request;
        request.host = "127.0.0.1";
        request.port = nobody.address().port;
        request.grant = std::string(32, 'a');
        request.path = request.there = "/x";
        return copies.begin({.account = account,
                             .account_stands = [] { return true; },
                             .request = std::move(request),
                             .root = *io::Root::jail(scratch.path(), false, false),
                             .into_directory = false,
                             .walk = {},
                             .plan = {}});
    }
    // On the loop's thread what was posted, until nothing runs and nothing is left.
    void finish() {
        std::vector<std::function<void()>> taken;
        do {
            if (copies.running() > 0) REQUIRE(more.try_acquire_for(std::chrono::seconds(20)));
            posted.take(taken);
            for (const auto& each : taken) each();
        } while (copies.running() > 0 || !taken.empty());
    }
    std::size_t known() const { return copies.list("alice").size(); }

    const TemporaryDirectory scratch;
    const LoopbackPort nobody{false};
    const config::ServerSettings settings = settings_for_many();
    const io::TlsContext tls = identity(scratch);
    io::Completions<std::function<void()>> posted;
    std::counting_semaphore<> more{0};
    Transfers transfers;
    Copies copies;
};

}  // namespace

TEST_CASE("copies: an account has so many at a time, and leaves others some") {
    Conducting server;
    for (std::size_t i = 0; i < Copies::kMostOfAccount; ++i)
        REQUIRE(std::holds_alternative<std::uint64_t>(server.begin("alice")));
    const auto refused = server.begin("alice");
    REQUIRE(std::holds_alternative<session::Reply>(refused));
    CHECK(std::get<session::Reply>(refused).code == 450);
    CHECK(std::holds_alternative<std::uint64_t>(server.begin("bob")));
    server.finish();
    CHECK(server.transfers.running() == 0);
    CHECK(std::holds_alternative<std::uint64_t>(server.begin("alice")));
}

TEST_CASE("copies: so many that have ended are known, and no more for those asked after") {
    Conducting server;
    for (std::size_t i = 0; i < Copies::kMostEndedOfAccount; ++i) {
        REQUIRE(std::holds_alternative<std::uint64_t>(server.begin("alice")));
        server.finish();
    }
    CHECK(server.known() == Copies::kMostEndedOfAccount);
    unsigned told = 0;
    const auto ask_after_the_oldest = [&](const session::CopyResult& result) {
        CHECK(result.unreached);
        for (std::uint64_t old = 1; old <= 5; ++old) {
            CHECK(server.copies.watch(old, "alice",
                                      {.moved = [](const session::CopyStatus&) { return true; },
                                       .ended = [&](const session::CopyResult&) { ++told; }}));
        }
    };
    const auto begun = server.begin("alice");
    server.copies.watch(
        std::get<std::uint64_t>(begun), "alice",
        {.moved = [](const session::CopyStatus&) { return true; }, .ended = ask_after_the_oldest});
    server.finish();
    CHECK(told == 5);
    CHECK(server.known() == Copies::kMostEndedOfAccount);
}

}  // namespace lambda::server
