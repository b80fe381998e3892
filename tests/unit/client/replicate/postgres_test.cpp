// A state in PostgreSQL, where the database is set up otherwise, hangs, or takes no writes, and
// what is said of its URI.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include "client/waiting.h"
#include "tests/unit/client/replicate/stores.h"

namespace lambda::client::replicate {
namespace {

using std::chrono::seconds;

// Whether a thread of this process waits in a system call (proc_pid_stat(5)).
bool sleeps(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.at(text.rfind(')') + 2) == 'S';
}

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

TEST_CASE("an interruption ends the wait for a database that hangs, and what follows is done") {
    if (!to_be_had(true)) return;
    const std::string uri = postgres().fresh();
    const auto database = good(PostgresDatabase::open(uri, minutes(1)));
    pid_t backend = 0;
    good(database->run("SELECT pg_backend_pid()", {},
                       [&](const Row& row) { backend = static_cast<pid_t>(row.integer(0)); }));
    REQUIRE(::kill(backend, SIGSTOP) == 0);
    const io::Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    const dialling::Interruption interruption(event.get());
    adopt_interruption(interruption);
    std::thread user([&interruption, asking = ::gettid()] {
        while (!sleeps(asking)) std::this_thread::yield();
        interruption.raise();
    });
    const auto began = now();
    const auto asked = database->run("SELECT 1", {}, {});
    user.join();
    CHECK_FALSE(asked.ok());
    CHECK(now() - began < seconds(30));
    CHECK(good(database->recover()));
    CHECK(good(database->run("SELECT 1", {}, {})) == 1);
    postgres().cut();
    CHECK_FALSE(database->run("SELECT 1", {}, {}).ok());
    CHECK_FALSE(database->recover().ok());  // the user waits
    adopt_interruption(dialling::Interruption(-1));
    ::kill(backend, SIGCONT);
}

TEST_CASE("what is to be done meanwhile is done while a database does not answer, or is away") {
    if (!to_be_had(true)) return;
    const std::string uri = postgres().fresh();
    const auto other = good(PostgresDatabase::open(postgres().fresh(), minutes(1)));
    const auto database = good(PostgresDatabase::open(uri, minutes(1)));
    int calls = 0;
    database->while_waiting([&] { ++calls; });
    good(database->run("SELECT 1", {}, {}));
    CHECK(calls == 0);
    good(database->run("SELECT pg_sleep(1.5)", {}, {}));
    CHECK(calls >= 1);

    const std::string name = uri.substr(uri.rfind('/') + 1);
    const auto let_in = [&](const char* whether) {
        good(other->execute("ALTER DATABASE " + name + " ALLOW_CONNECTIONS " + whether));
    };
    calls = 0;
    database->while_waiting([&] {
        if (++calls == 2) let_in("true");
    });
    let_in("false");
    good(other->run(
        std::string("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '") +
            name + "'",
        {}, {}));
    CHECK_FALSE(database->run("SELECT 1", {}, {}).ok());
    CHECK(good(database->recover()));
    CHECK(calls == 2);
}

TEST_CASE("a database that takes no writes for a while is one that is away") {
    if (!to_be_had(true)) return;
    const auto other = good(PostgresDatabase::open(postgres().fresh(), minutes(1)));
    const auto store = good(open_store(postgres().fresh(), "job", minutes(1), minutes(10)));
    const auto answers_of = [&](const char* sql) {
        std::set<std::string> answers;
        good(other->run(sql, {}, [&](const Row& row) { answers.insert(row.text(0)); }));
        return answers;
    };
    const auto until = [](const std::function<bool()>& happened) {
        const Time limit = now() + seconds(30);
        while (!happened() && now() < limit) std::this_thread::yield();
        CHECK(happened());
    };
    const auto set = [&](const char* value) {
        good(other->execute(std::string("ALTER SYSTEM SET default_transaction_read_only = ") +
                            value));
        good(other->execute("SELECT pg_reload_conf()"));
        // Sessions hear of it by a signal.
        until([&] {
            return answers_of("SHOW default_transaction_read_only") == std::set<std::string>{value};
        });
    };
    const auto sessions = [&] {
        return answers_of(
            "SELECT pid::text FROM pg_stat_activity "
            "WHERE application_name = 'lambda-ftp' AND pid != pg_backend_pid()");
    };
    const std::set<std::string> before = sessions();
    set("on");
    std::thread later([&] {
        until([&] {  // the store has left the one that takes no writes
            const std::set<std::string> there = sessions();
            return std::none_of(before.begin(), before.end(),
                                [&](const std::string& pid) { return there.contains(pid); });
        });
        set("off");
    });
    const auto kept = store->set_request(Request::pause);
    later.join();
    INFO((kept ? "" : kept.error().sentence()));
    CHECK(kept.ok());
}

}  // namespace
}  // namespace lambda::client::replicate
