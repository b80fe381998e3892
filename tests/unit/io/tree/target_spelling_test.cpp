// Names that a file system takes for others.
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/unit/io/tree/target_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

// As where names are not told apart by case; here a directory in which all threads are found, and
// only processes listed.
TEST_CASE("target: nothing is known to be extraneous where what is found is not listed") {
    const std::string process = std::to_string(::getpid());
    std::mutex mutex;
    std::condition_variable_any ends;
    std::atomic<pid_t> thread = 0;
    const std::jthread other([&](const std::stop_token& stop) {
        thread = ::gettid();
        thread.notify_all();
        std::unique_lock lock(mutex);
        ends.wait(lock, stop, [] { return false; });
    });
    thread.wait(0);
    const std::string found = std::to_string(thread);
    const auto all = [](const std::string&, bool) { return true; };
    for (const bool skipped : {false, true}) {
        Asked asked;
        asked.tree.seek_extraneous(all, false);
        Look last = at("/proc", found);
        last.skipped = skipped;
        const TargetEvent listed = asked.look({enter("/proc", "."), at("/proc", process)});
        CHECK(listed.standings.back().kind == StandingKind::directory);
        CHECK_FALSE(listed.error);
        const TargetEvent event = asked.look({last, kLeave});
        REQUIRE(event.error);
        CHECK(event.error->path == found);
    }
    Asked asked;
    CHECK_FALSE(asked.look({enter("/proc", "."), at("/proc", found), kLeave}).error);
}

TEST_CASE("target: what was made since its directory was listed is no other spelling") {
    const Folder folder;
    const std::string base = folder / "";
    write_file(folder / "b", "x");
    Asked asked;
    asked.tree.seek_extraneous({}, false);
    CHECK_FALSE(asked.look({enter(base, "."), at(base, "a")}).error);
    write_file(folder / "c", "x");
    CHECK_FALSE(asked.look({at(base, "c"), kLeave}).error);
    CHECK(asked.extraneous(false, false) == Names{"b"});
}
