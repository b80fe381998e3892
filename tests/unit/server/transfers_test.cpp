// What a transfer holds of a server that cannot begin it.
#include "server/transfers.h"

#include <chrono>
#include <semaphore>

#include "common/io/completions.h"
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

}  // namespace

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
    const auto open = [&] {
        session::Offer offer;
        offer.terms.direction = put ? session::Direction::put : session::Direction::get;
        return transfers.open({.offer = std::move(offer),
                               .root = *io::Root::jail(scratch.path(), false, false),
                               .target = "x",
                               .into_directory = false,
                               .bounds = {},
                               .claim = {},
                               .local = loopback(),
                               .peer = loopback(),
                               .export_key = [](ByteView) { return mover::TransferSecret{}; },
                               .ended = [](const mover::Outcome&) {}});
    };
    const auto whole_share = [&] {
        const auto share = transfers.reserve({});
        const std::uint64_t bytes = std::get<Transfers::Share>(share).memory;
        transfers.release(bytes);
        return bytes;
    };
    const std::uint64_t before = whole_share();
    unsigned refused = 0;
    for (unsigned count = 0; transfers.running() == 0; ++count) {
        const lambda::testing::FewThreads few(count);
        const auto outcome = open();
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
    CHECK(whole_share() == before);
}

}  // namespace lambda::server
