// Where the machine allows no more threads.
#include "common/io/workers.h"
#include "common/io/reactor.h"

#include <atomic>
#include <csignal>
#include <new>

#include "common/io/disk/finisher.h"
#include "common/io/disk/slots.h"
#include "common/io/process.h"
#include "common/io/tree/target_tree.h"
#include "tests/support/few_threads.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;
using lambda::testing::FewThreads;

namespace {

bool takes_signals() {
    sigset_t blocked;
    REQUIRE(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0);
    return ::sigismember(&blocked, SIGTERM) == 0;
}

}  // namespace

TEST_CASE("a thread that cannot be started is an error that says what to do") {
    const FewThreads few(0);
    const auto refused = start_thread([] {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == Fault::cut);
    CHECK(refused.error().message == "cannot start a thread: Resource temporarily unavailable");
    CHECK(refused.error().remedy.find("TasksMax") != std::string::npos);
    CHECK(takes_signals());
}

TEST_CASE("a job that has no memory is told as lost, and the next one runs") {
    std::atomic<unsigned> lost = 0, run = 0;
    {
        auto workers = Workers::make(1, 8, [&] { ++lost; });
        REQUIRE(workers);
        for (int i = 0; i < 3; ++i) {
            (*workers)->post([] { throw std::bad_alloc(); });
            (*workers)->post([&] { ++run; });
        }
    }
    CHECK(lost == 3);
    CHECK(run == 3);
}

TEST_CASE("a ring that finds no memory is refused as what may pass, and says what to do") {
    const auto refused = Slots::reserve(UINT64_MAX, MiB);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().fault == Fault::cut);
    CHECK(refused.error().remedy.find("LimitAS") != std::string::npos);
}

TEST_CASE("of several threads all are started, or none is left") {
    const unsigned count = GENERATE(0U, 1U, 3U);
    const FewThreads few(count);
    CHECK_FALSE(Workers::make(4, 1));
    CHECK((count >= 2 ||
           !Finisher::make(
               Root::machine(), [](const Made&, const std::optional<Error>&) {}, [] {})));
    CHECK(takes_signals());
    // Those that began have ended: so many may be started again.
    if (count > 0) CHECK(Workers::make(count, 1));
}

TEST_CASE("threads are tried all at once") {
    const FewThreads few(3);
    CHECK(try_threads(3));
    const auto refused = try_threads(4);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().remedy.find("ulimit -v") != std::string::npos);
    CHECK(try_threads(3));
}

TEST_CASE("a disk is not made without its threads") {
    const bool uring = GENERATE(true, false);
    const auto reactor = std::move(Reactor::make().value());
    const DiskOptions options{.memory_bytes = 8 * kBlock, .allow_uring = uring};
    for (unsigned count = 0; count < (uring ? 4U : 8U); ++count) {
        const FewThreads few(count);
        const auto refused = make_disk(options, Root::machine(), *reactor);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message.starts_with("cannot start a thread"));
    }
    CHECK(make_disk(options, Root::machine(), *reactor));
}

TEST_CASE(
    "where nothing can be made for want of threads each entry hears of it, and later it can") {
    const Folder folder;
    Harness disk(true);
    const auto make = [&] {
        disk.disk->make_entry(
            disk.next_tag, {.kind = ports::Making::Kind::directory, .name = {folder.path(), "d"}});
        return disk.one();
    };
    for (const unsigned count : {0U, 1U, 2U}) {
        const FewThreads few(count);
        const auto refused = make();
        REQUIRE(refused.error);
        CHECK(refused.error->fault == Fault::file);
        CHECK(refused.error->path == folder / "d");
        CHECK(refused.error->message.starts_with("cannot start a thread"));
    }
    CHECK_FALSE(make().error);
}

TEST_CASE("what stays is not told as durable where no thread may flush it") {
    const Folder folder;
    write_file(folder / "f", "x");
    const auto reactor = std::move(Reactor::make().value());
    const auto tree = std::move(TargetTree::make(Root::machine(), *reactor).value());
    const auto keep = [&] {
        tree->keep(5, {folder.path(), "f"});
        std::vector<ports::TargetEvent> events;
        for (const Time limit = Clock().now() + 20s; events.empty() && Clock().now() < limit;) {
            reactor->wait(limit);
            events = tree->poll();
        }
        REQUIRE(events.size() == 1);
        return events.front().error;
    };
    for (const unsigned count : {0U, 1U}) {
        const FewThreads few(count);
        const auto refused = keep();
        REQUIRE(refused);
        CHECK(refused->fault == Fault::file);
        CHECK(refused->path == folder / "f");
        CHECK(refused->message.starts_with("cannot start a thread"));
    }
    CHECK_FALSE(keep());
}
