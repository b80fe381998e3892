// A whole server in this process, of which somebody asks much.
#include <atomic>

#include "tests/unit/server/running.h"

namespace lambda::server {

TEST_CASE("who never stops talking holds nobody up, and is gone after the login time") {
    config::ServerSettings settings;
    settings.login_timeout = std::chrono::seconds(3);
    const Running running(settings);
    const bool in_tls = GENERATE(false, true);
    CAPTURE(in_tls);
    Client stranger(running);
    if (in_tls) stranger.secure();
    std::atomic<bool> over = false;
    double took = 0;
    std::jthread flood([&] {
        took = seconds_of([&] { stranger.flood("NOOP\r\n", 20); });
        over = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    Client(running).log_in();
    CHECK_FALSE(over);
    flood.join();
    CHECK(took < 10);
}

}  // namespace lambda::server
