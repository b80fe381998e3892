// A whole server in this process, of which somebody asks much.
#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <ctime>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <new>
#include <semaphore>
#include <vector>

#include "common/io/stage/range_log.h"
#include "common/io/stage/stage_files.h"
#include "common/session/range.h"
#include "server/command_queue.h"
#include "server/fair_pool.h"
#include "server/file_pool.h"
#include "tests/unit/server/running.h"

namespace lambda::server {

namespace asio = boost::asio;

namespace {

// Each has sent a wrong password. The first one's was refused; the others wait.
std::vector<std::unique_ptr<Client>> guessers_at(const Running& running, int count) {
    std::vector<std::unique_ptr<Client>> guessers;
    for (int i = 0; i < count; ++i) {
        guessers.push_back(std::make_unique<Client>(running));
        REQUIRE(guessers.back()->secure().code("USER alice") == 331);
    }
    for (const auto& guesser : guessers) guesser->send("PASS guess\r\n");
    REQUIRE(guessers.front()->code() == 530);
    return guessers;
}

}  // namespace

TEST_CASE("who never stops talking holds nobody up, and is gone after the login time") {
    config::ServerSettings settings;
    settings.login_timeout = std::chrono::seconds(3);
    const Running running(settings);
    const bool in_tls = GENERATE(false, true);
    CAPTURE(in_tls);
    Client stranger(running);
    if (in_tls) stranger.secure();
    std::atomic<bool> over = false;
    std::counting_semaphore<> turns(0);
    double took = 0;
    std::jthread flood([&] {
        took = seconds_of([&] { stranger.flood("NOOP\r\n", 20, [&] { turns.release(); }); });
        over = true;
    });
    for (int i = 0; i < 1'000; ++i) REQUIRE(turns.try_acquire_for(std::chrono::seconds(20)));
    Client(running).log_in();
    CHECK_FALSE(over);
    flood.join();
    CHECK(took < 10);
}

TEST_CASE("who guesses passwords keeps himself waiting, and no other host") {
    constexpr int kGuessers = 16;
    const Running running;
    Client user(running, 1);
    user.secure();
    REQUIRE(user.code("USER alice") == 331);
    const auto guessers = guessers_at(running, kGuessers);
    CHECK(user.code("PASS secret") == 230);
    const auto waiting = [](const auto& guesser) { return guesser->left_waiting(); };
    CHECK(std::count_if(guessers.begin() + 1, guessers.end(), waiting) > kGuessers / 2);
}

TEST_CASE("whose password waits for its turn gives way where all places are taken") {
    constexpr int kGuessers = 8;
    config::ServerSettings settings;
    settings.sessions_max = settings.sessions_per_address = kGuessers;
    const Running running(settings);
    const auto guessers = guessers_at(running, kGuessers);
    Client user(running, 1);
    user.secure();
    CHECK(guessers.back()->code() == 0);
    CHECK(guessers.at(1)->code() == 530);
    CHECK(user.code("USER alice") == 331);
    CHECK(user.code("PASS secret") == 230);
}

TEST_CASE("who does not read gives way at once, too") {
    config::ServerSettings settings;
    settings.sessions_max = settings.sessions_per_address = 1;
    Running running(settings);
    Client stranger(running);
    stranger.secure().stuff("FEAT\r\n", running);
    Client user(running, 1);
    user.log_in();
    CHECK(stranger.cut_off());
}

TEST_CASE("logins at once with one right password cost one proof") {
    constexpr int kLogins = 12;
    const auto processor_time_of = [](const std::function<void()>& work) {
        const std::clock_t start = std::clock();
        work();
        return std::clock() - start;
    };
    const Running running;
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < kLogins; ++i) {
        clients.push_back(std::make_unique<Client>(running));
        REQUIRE(clients.back()->secure().code("USER alice") == 331);
    }
    const auto proof = processor_time_of([] { REQUIRE(hash_password("secret").ok()); });
    const auto all = processor_time_of([&] {
        for (const auto& client : clients) client->send("PASS secret\r\n");
        for (const auto& client : clients) CHECK(client->code() == 230);
    });
    CHECK(all < kLogins / 2 * proof);
}

TEST_CASE("want of memory in a pool is the answer, or ends who asked") {
    asio::io_context loop;
    FilePool files(8);
    FairPool<int> fair(1, 1);
    const auto no_result = []() -> Result<int> { throw std::bad_alloc(); };
    const auto no_bool = []() -> bool { throw std::bad_alloc(); };
    std::vector<Result<int>> answers;
    int ends = 0;
    const auto ask = [&](auto run) -> asio::awaitable<void> {
        answers.push_back(co_await run(no_result));
    };
    const auto ask_plainly = [&]() -> asio::awaitable<void> {
        try {
            co_await fair.run(1, no_bool);
        } catch (const std::bad_alloc&) {
            ++ends;
        }
    };
    asio::co_spawn(loop, ask([&](auto work) { return files.run("ann", work); }), asio::detached);
    asio::co_spawn(loop, ask([&](auto work) { return fair.run(1, work); }), asio::detached);
    asio::co_spawn(loop, ask_plainly(), asio::detached);
    loop.run();
    REQUIRE(answers.size() == 2);
    for (const auto& each : answers) CHECK(each.error().fault == Fault::cut);
    CHECK(ends == 1);
    files.join();
    fair.join();
}

TEST_CASE("an owner whose file system is silent gets no further job, and others do") {
    asio::io_context loop;
    FilePool files(3, std::chrono::seconds(0));
    std::latch answer(1);
    std::map<std::string, int> done, refused;
    const auto ask = [&](std::string owner, int jobs) -> asio::awaitable<void> {
        const auto work = [&answer, waits = jobs == 1]() -> Result<int> {
            if (waits) answer.wait();
            return 0;
        };
        for (int i = 0; i < jobs; ++i) {
            const auto answered = co_await files.run(owner, work);
            ++(answered ? done : refused)[owner];
        }
    };
    for (int i = 0; i < 5; ++i) asio::co_spawn(loop, ask("silent", 1), asio::detached);
    asio::co_spawn(loop, ask("other", 5), asio::detached);
    while (done["other"] < 5 || refused["silent"] < 2) loop.run_one();
    CHECK(done["silent"] == 0);
    answer.count_down();
    loop.run();
    CHECK(done["silent"] == 3);
    CHECK(refused == std::map<std::string, int>{{"silent", 2}});
    loop.restart();
    asio::co_spawn(loop, ask("silent", 1), asio::detached);
    loop.run();
    CHECK(done["silent"] == 4);
    files.join();
}

TEST_CASE("a listing may take longer than was left to log in") {
    constexpr int kFiles = 2'500, kListings = 8;  // more than fits into sockets
    config::ServerSettings settings;
    settings.login_timeout = std::chrono::seconds(2);
    const Running running(settings);
    std::filesystem::create_directory(running.scratch / "large");
    for (int i = 0; i < kFiles; ++i)
        running.scratch.write("large/" + std::to_string(i) + std::string(200, 'x'), "");
    Client client(running);
    client.secure();
    client.send("USER alice\r\nPASS secret\r\n");
    for (int i = 0; i < kListings; ++i) client.send("MLSD large\r\n");
    client.send("NOOP\r\n");
    Client silent(running);  // is sent away when that time is over for it, which came later
    while (silent.hear()) {
    }
    CHECK(client.skip_to("\r\n200 "));
}

TEST_CASE("who does not read is answered no further command") {
    constexpr std::uint64_t kStretches = 10'000, kLooks = 60;  // more than fits into sockets
    const Running running;
    const session::StageRequest look{
        .stage = {.name = "x", .source = {.size = 2 * kStretches * MiB, .mtime_ns = 1, .id = 1}},
        .path = "file"};
    const auto at =
        io::stage_place(io::Root::machine(), running.scratch / "file", look.stage, true);
    REQUIRE(at.ok());
    std::string log = io::RangeLog::source_line(look.stage.source);
    for (std::uint64_t i = 0; i < kStretches; ++i) {
        const io::RangeLog::Claim claim{{2 * i * MiB, (2 * i + 1) * MiB}, i + 1};
        log += io::RangeLog::claim_line(claim) + io::RangeLog::done_line(claim, 0644);
    }
    running.scratch.write(at->log, log);
    running.scratch.write(at->parts, "");
    std::filesystem::resize_file(running.scratch / at->parts, look.stage.source.size);
    Client client(running);
    client.log_in();
    std::string words;
    for (std::uint64_t i = 0; i < kLooks; ++i)
        words += "STAGE " + session::format_stage(look) + "\r\n";
    client.send(words + "MKD behind\r\n");
    const auto first = client.hear();
    REQUIRE(first.has_value());
    CHECK(first->lines.size() == kStretches + 2);
    CHECK_FALSE(std::filesystem::exists(running.scratch / "behind"));
    CHECK(client.skip_to("\r\n257 "));
}

TEST_CASE("checksums of one account hold up no other's") {
    const Running running;
    running.scratch.write("huge", "");
    std::filesystem::resize_file(running.scratch / "huge", 1ull << 40);
    running.scratch.write("small", "three");
    std::vector<std::unique_ptr<Client>> readers;
    for (int i = 0; i < 10; ++i) {
        readers.push_back(std::make_unique<Client>(running));
        readers.back()->log_in().send("CKSM md5 0 -1 huge\r\n");
        REQUIRE(readers.back()->code("NOOP") == 200);
    }
    Client other(running);
    CHECK(other.log_in("bob").code("CKSM md5 0 -1 small") == 213);
}

TEST_CASE("a checksum that waits behind others is stopped at once") {
    const Running running;
    running.scratch.write("huge", "");
    std::filesystem::resize_file(running.scratch / "huge", 1ull << 40);
    std::vector<std::unique_ptr<Client>> readers;
    for (int i = 0; i < 3; ++i) {
        readers.push_back(std::make_unique<Client>(running));
        readers.back()->log_in().send("CKSM md5 0 -1 huge\r\n");
        REQUIRE(readers.back()->code("NOOP") == 200);
    }
    CHECK(readers.back()->code("ABOR") == 426);
    CHECK(readers.back()->code() == 226);
    CHECK(readers.back()->code("NOOP") == 200);
}

TEST_CASE("who is gone leaves no session behind, whatever he asked for") {
    config::ServerSettings settings;
    settings.sessions_per_address = 3;
    const Running running(settings);
    running.scratch.write("huge", "");
    std::filesystem::resize_file(running.scratch / "huge", 1ull << 40);
    const bool waits = GENERATE(false, true);
    CAPTURE(waits);
    std::string words = "CKSM md5 0 -1 huge\r\nNOOP\r\n";
    std::vector<std::unique_ptr<Client>> readers;  // two, behind whom the third's waits
    for (int i = 0; i < 3; ++i) {
        readers.push_back(std::make_unique<Client>(running));
        readers.back()->log_in().send(words);
        REQUIRE(readers.back()->code() == 200);
    }
    if (!waits)
        for (int i = 0; i < 70; ++i) readers.back()->send("PWD\r\n");
    readers.pop_back();
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    bool admitted = false;
    while (!admitted && std::chrono::steady_clock::now() < end) {
        Client next(running);
        next.send("AUTH TLS\r\n");
        admitted = next.code() == 220;
    }
    CHECK(admitted);
}

TEST_CASE("who pipelines more than may be in hand while something runs is sent away") {
    const Running running;
    running.scratch.write("huge", "");
    std::filesystem::resize_file(running.scratch / "huge", 1ull << 40);
    Client client(running);
    client.log_in().send("CKSM md5 0 -1 huge\r\n");
    for (std::size_t i = 1; i < kMaxInHand; ++i) client.send("PWD\r\n");
    CHECK(client.code("NOOP") == 200);
    CHECK(client.code("PWD") == 421);
    CHECK(client.code() == 0);
}

TEST_CASE("a shared pool runs each piece once, of who asks again at once, too") {
    constexpr int kPieces = 50'000;
    FairPool<int> pool(4, 2);
    std::atomic<int> done = 0;
    std::binary_semaphore all(0);
    std::function<void()> ask = [&] {
        if (const int count = ++done; count < kPieces)
            pool.post(0, ask);
        else if (count == kPieces)
            all.release();
    };
    pool.post(0, ask);
    pool.post(1, [] {});
    REQUIRE(all.try_acquire_for(std::chrono::milliseconds(kPatienceMs)));
    pool.join();
    CHECK(done == kPieces);
}

TEST_CASE("who does not read is gone once what ran has ended, and after the idle time") {
    const bool account_goes = GENERATE(false, true);
    CAPTURE(account_goes);
    config::ServerSettings settings;
    if (!account_goes) settings.idle_timeout = std::chrono::seconds(1);
    Running running(settings);
    running.scratch.write("huge", "");
    std::filesystem::resize_file(running.scratch / "huge", 1ull << 40);
    Client client(running);
    client.log_in().send("CKSM md5 0 -1 huge\r\n");
    client.stuff("STAT\r\n", running);
    if (account_goes) {
        running.server->replace_accounts({});
    } else {
        std::filesystem::resize_file(running.scratch / "huge", 1);
    }
    CHECK(client.cut_off());
}

TEST_CASE("a stop checks no password that waits") {
    constexpr int kGuessers = 48;
    auto running = std::make_unique<Running>();
    const auto guessers = guessers_at(*running, kGuessers);
    const double one = seconds_of([] { REQUIRE(hash_password("secret").ok()); });
    CHECK(seconds_of([&] { running.reset(); }) < 1 + kGuessers / 3 * one);
}

TEST_CASE("a stop ends the checksums that are read, too") {
    Running running;
    running.scratch.write("huge", "");
    std::filesystem::resize_file(running.scratch / "huge", 1ull << 40);
    Client client(running);
    client.log_in();
    for (int i = 0; i < 3; ++i) client.send("CKSM sha256 0 -1 huge\r\n");
    REQUIRE(client.code("NOOP") == 200);
    running.server->stop();
    CHECK(client.code() == 426);
    for (int i = 0; i < 2; ++i) CHECK(client.code() == 450);
    CHECK(client.code() == 421);
    CHECK(client.code() == 0);
}

}  // namespace lambda::server
