// What a transfer holds of a server that cannot begin it.
#include "server/transfers.h"

#include <fcntl.h>

#include <chrono>
#include <new>
#include <semaphore>
#include <vector>

#include "common/io/completions.h"
#include "common/io/process.h"
#include "tests/support/few_files.h"
#include "tests/support/few_threads.h"
#include "tests/unit/server/temporary.h"

namespace lambda::server {
namespace {

Address loopback() {
    Address address;
    address.ip[10] = address.ip[11] = std::byte{0xff};
    address.ip[12] = std::byte{127};
    address.ip[15] = std::byte{1};
    address.port = 1;
    return address;
}

TransferRequest request(const TemporaryDirectory& scratch, bool put) {
    session::Offer offer;
    offer.terms.direction = put ? session::Direction::put : session::Direction::get;
    return {.account = "alice",
            .offer = std::move(offer),
            .root = *io::Root::jail(scratch.path(), false, false),
            .target = "x",
            .into_directory = false,
            .bounds = {},
            .claim = {},
            .local = loopback(),
            .peer = loopback(),
            .export_key = [](ByteView) { return mover::TransferSecret{}; },
            .ended = [](const mover::Outcome&) {}};
}

// The memory of one who is alone.
std::uint64_t whole_share(Transfers& transfers) {
    return std::get<Transfers::Share>(transfers.reserve("alice", {})).memory();
}

}  // namespace

TEST_CASE("a transfer that would open the spare files is refused, and one later is not") {
    const config::ServerSettings settings;
    Transfers transfers(settings, 1, [](const std::function<void()>&) {});
    const auto free = [&] {
        const auto share = transfers.reserve("alice", {});
        if (const auto* refused = std::get_if<session::Reply>(&share)) {
            CHECK(refused->code == 450);
            CHECK(refused->text().find("files are open") != std::string::npos);
            return false;
        }
        return true;
    };
    CHECK(free());
    {
        const lambda::testing::FewFiles few(80);
        io::keep_files_spare(20);
        std::vector<io::Descriptor> open;
        for (int i = 0; i < 60; ++i) open.emplace_back(::open("/dev/null", O_RDONLY));
        CHECK_FALSE(free());
    }
    io::keep_files_spare(0);
    CHECK(free());
}

TEST_CASE("a transfer without its threads is refused, with nothing left of it") {
    const TemporaryDirectory scratch;
    const config::ServerSettings settings;
    io::Completions<std::function<void()>> posted;
    std::counting_semaphore<> more(0);
    Transfers transfers(settings, 1, [&](std::function<void()> run) {
        static_cast<void>(posted.put(std::move(run)));
        more.release();
    });
    const bool put = GENERATE(true, false);
    const std::uint64_t before = whole_share(transfers);
    unsigned refused = 0;
    for (unsigned count = 0; transfers.running() == 0; ++count) {
        const lambda::testing::FewThreads few(count);
        const auto outcome = transfers.open(request(scratch, put));
        if (const auto* reply = std::get_if<session::Reply>(&outcome)) {
            ++refused;
            CHECK(reply->code == 450);
            CHECK(reply->text().find("cannot start a thread") != std::string::npos);
            CHECK(reply->text().find("TasksMax") != std::string::npos);
        }
        REQUIRE(count < 32);
    }
    CHECK(refused >= 4);
    transfers.stop_all(
        {.fault = Fault::cut, .message = "enough", .path = {}, .side = Side::local, .remedy = {}});
    std::vector<std::function<void()>> taken;
    while (transfers.running() > 0) {
        REQUIRE(more.try_acquire_for(std::chrono::seconds(20)));
        posted.take(taken);
        for (const auto& each : taken) each();
    }
    CHECK(whole_share(transfers) == before);
}

TEST_CASE("a transfer that has no memory to begin leaves nothing of it") {
    const TemporaryDirectory scratch;
    config::ServerSettings settings;
    settings.memory = 64 * MiB;
    Transfers transfers(settings, 1, [](const std::function<void()>&) {});
    const std::uint64_t before = whole_share(transfers);
    TransferRequest hungry = request(scratch, true);
    hungry.export_key = [](ByteView) -> Result<mover::TransferSecret> { throw std::bad_alloc(); };
    CHECK_THROWS_AS(transfers.open(std::move(hungry)), std::bad_alloc);
    CHECK(transfers.running() == 0);
    CHECK(whole_share(transfers) == before);
    bool idle = false;
    transfers.when_idle([&] { idle = true; });
    CHECK(idle);
}

TEST_CASE("an account leaves the others some of the places, where there are others") {
    config::ServerSettings settings;
    settings.transfers_max = 16;
    Transfers transfers(settings, 1, [](const std::function<void()>&) {});
    std::vector<Transfers::Share> taken;
    const auto take = [&](const char* account) {
        auto share = transfers.reserve(account, {});
        auto* const given = std::get_if<Transfers::Share>(&share);
        if (given != nullptr) taken.push_back(std::move(*given));
        return given != nullptr;
    };
    transfers.share_among(2);
    while (take("alice")) {
    }
    CHECK(taken.size() == 14);
    CHECK(take("bob"));
    transfers.release(std::move(taken.front()));
    CHECK(take("alice"));
    CHECK_FALSE(take("alice"));
    transfers.share_among(1);
    CHECK(take("alice"));
    CHECK_FALSE(take("alice"));
}

}  // namespace lambda::server
