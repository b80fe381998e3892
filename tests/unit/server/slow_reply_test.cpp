// A client that waits for what takes long, of a server that works on it and of one that hangs.
#include <sys/eventfd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "common/dialling/connection.h"
#include "tests/support/catch.h"
#include "tests/unit/server/running.h"

namespace lambda::server {
namespace {

std::atomic<bool> hanging = false;

// The server's loop does nothing while this stands.
class Hang {
  public:
    explicit Hang(Running& running) {
        std::signal(SIGUSR1, [](int) {
            while (hanging) std::this_thread::yield();
        });
        hanging = true;
        REQUIRE(::pthread_kill(running.thread.native_handle(), SIGUSR1) == 0);
    }
    Hang(const Hang&) = delete;
    Hang& operator=(const Hang&) = delete;
    ~Hang() { hanging = false; }
};

struct Waiting {
    Running running;
    io::Descriptor event{::eventfd(0, EFD_CLOEXEC)};
    dialling::Interruption interruption{event.get()};
    std::unique_ptr<dialling::Connection> connection;

    Waiting() {
        running.scratch.write("huge", "");
        std::filesystem::resize_file(running.scratch / "huge", 1ull << 40);
        running.scratch.write("small", "what is there");
        io::ClientTrust trust;
        trust.accept_unknown = true;
        auto opened = dialling::Connection::open(
            {.server = {"127.0.0.1", running.server->addresses().front().port},
             .may_dial = {},
             .trust = trust,
             .check_key = {}},
            interruption);
        REQUIRE(opened.ok());
        connection = *std::move(opened);
        REQUIRE(connection->send("USER", "alice").ok());
        REQUIRE(connection->send("PASS", "secret").ok());
        connection->expect_login(2, "");
        REQUIRE(connection->exchange("NOOP").ok());
    }
};

}  // namespace

TEST_CASE("a reply that takes long is waited for as long as the server says that it is there") {
    Waiting waiting;
    REQUIRE(waiting.connection->send("CKSM", "md5 0 1073741824 huge").ok());  // a second or two
    const auto reply = waiting.connection->receive_slow(std::chrono::milliseconds(400));
    REQUIRE(reply.ok());
    CHECK(reply->code == 213);
}

TEST_CASE("a server that hangs is left, and one that was asked in between is understood") {
    constexpr Duration kPatience = std::chrono::milliseconds(400);
    Waiting waiting;
    {
        const Hang hang(waiting.running);
        for (int i = 0; i < 2; ++i)
            REQUIRE(waiting.connection->send("CKSM", "md5 0 -1 small").ok());
        const auto reply = waiting.connection->receive_slow(kPatience);
        REQUIRE(!reply.ok());
        CHECK(reply.error().fault == Fault::cut);
        CHECK(reply.error().message.find("no answer within ") != std::string::npos);
    }
    // The answer to NOOP comes somewhere among these.
    for (int i = 0; i < 2; ++i) {
        const auto reply = waiting.connection->receive();
        REQUIRE(reply.ok());
        CHECK(reply->code == 213);
    }
    const auto last = waiting.connection->exchange("SIZE", "small");
    REQUIRE(last.ok());
    CHECK(last->code == 213);
}

}  // namespace lambda::server
