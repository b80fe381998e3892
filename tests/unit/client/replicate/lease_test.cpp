// What every store keeps to, be it in SQLite or in PostgreSQL: work is done under leases.
#include <atomic>
#include <thread>

#include "tests/unit/client/replicate/forwarding_database.h"
#include "tests/unit/client/replicate/stores.h"

namespace lambda::client::replicate {
namespace {

// Every third commit is lost: by turns before it came through, and after.
class Doubtful final : public ForwardingDatabase {
  public:
    using ForwardingDatabase::ForwardingDatabase;
    Result<void> commit() override {
        lost_ = ++commits_ % 3 == 0;
        if (!lost_) return inner_->commit();
        if (commits_ % 2 == 0) {
            good(inner_->commit());
            committed_ = true;
        }
        return Error{.fault = Fault::session, .message = "lost", .path = {}, .remedy = {}};
    }
    void roll_back() override {
        if (!std::exchange(committed_, false)) inner_->roll_back();
    }
    Result<bool> recover() override { return std::exchange(lost_, false); }

  private:
    int commits_ = 0;
    bool lost_ = false, committed_ = false;
};

Planned cut_file() {
    Planned planned = files({{"small", 3}, {"large", 25}, {"last", 4}});
    planned.tasks[1].ranges = {{0, 10}, {10, 20}, {20, 25}};
    return planned;
}

TEST_CASE("work is leased in order, in loads of a bounded size, and once") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    plan(*store, run, files({{"x/1", 60}, {"x/big", 500}, {"y/2", 40}, {"x/3", 1}, {"x/4", 0}}));
    CHECK(leased(*store, request(run.id)) == Names{"x/1", "y/2"});
    CHECK(leased(*store, request(run.id)) == Names{"x/big"});  // alone
    LeaseRequest one = request(run.id);
    one.most_files = 1;
    CHECK(leased(*store, one) == Names{"x/3"});
    CHECK(leased(*store, one) == Names{"x/4"});
    CHECK(leased(*store, one).empty());
    CHECK(good(store->waiting(run.id, 0)).files == 5);
}

TEST_CASE("the files of one directory go together") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    plan(*store, run, files({{"x/1", 1}, {"y/2", 1}, {"x/3", 1}}));
    LeaseRequest together = request(run.id);
    together.one_directory = true;
    CHECK(leased(*store, together) == Names{"x/1", "x/3"});
}

TEST_CASE("what a lease said that has ended does not count, nor what is said twice") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    plan(*store, run, files({{"1", 1}}));
    const auto first = good(store->lease(request(run.id)));
    CHECK(good(store->conduct()));
    bench.pass(milliseconds(20'000));
    CHECK(good(store->take_over(run.id, "you")) == 1);
    CHECK(good(store->take_over(run.id, "you")) == 0);
    CHECK_FALSE(good(store->settle(first.number, all_done(first))));
    const auto second = good(store->lease(request(run.id, TaskState::uncertain, "you")));
    CHECK(second.number > first.number);
    CHECK_FALSE(good(store->settle(first.number, all_done(first))));
    CHECK(good(store->beat({.owner = "me"}, milliseconds(10))).empty());
    CHECK(good(store->beat({.owner = "you"}, milliseconds(10))) == std::set{second.number});
    CHECK(good(store->settle(second.number, all_done(second))));
    CHECK_FALSE(good(
        store->settle(second.number, {{.id = second.tasks[0].id, .state = TaskState::waiting}})));
    CHECK(good(store->sites(run.id))[0].moved.files == 1);
    const auto tallies = good(store->tallies(run.id));
    REQUIRE(tallies.size() == 1);
    CHECK(tallies[0].owner == "me");
    CHECK(tallies[0].lost == 1);
}

TEST_CASE("what waits for nothing can be had whatever the clock says") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    plan(*store, run, files({{"a", 1}, {"b", 1}}));
    const auto lease = good(store->lease(request(run.id)));
    REQUIRE(lease.tasks.size() == 2);
    CHECK(good(store->settle(
        lease.number,
        {{.id = lease.tasks[0].id, .state = TaskState::waiting},
         {.id = lease.tasks[1].id, .state = TaskState::waiting, .pause = milliseconds(60'000)}})));
    std::vector<bool> at_once;
    good(bench.database()->run("SELECT not_before FROM task ORDER BY id", {},
                               [&](const Row& row) { at_once.push_back(row.integer(0) == 0); }));
    CHECK(at_once == std::vector<bool>{true, false});
}

TEST_CASE("what a clock that was ahead put off waits no longer than a pause") {
    FOR_EVERY_STORE(bench);
    const auto store = good(SqlStore::open(bench.database(), "job", minutes(10)));
    bench.pass(std::chrono::hours(48));
    const Run run = begin(*store);
    plan(*store, run, files({{"a", 1}}));
    const auto lease = good(store->lease(request(run.id)));
    const std::vector<Settled> later{
        {.id = lease.tasks.at(0).id, .state = TaskState::waiting, .pause = minutes(10)}};
    CHECK(good(store->settle(lease.number, later)));
    CHECK(leased(*store, request(run.id)).empty());
    CHECK(good(store->waiting(run.id, 0)).next > minutes(9));
    bench.pass(-std::chrono::hours(24));  // it is set right
    CHECK(good(store->waiting(run.id, 0)).next == milliseconds(0));
    CHECK(leased(*store, request(run.id)) == Names{"a"});
}

TEST_CASE("a lease lives as long as its owner beats") {
    FOR_EVERY_STORE(bench);
    if (!shared) return;  // elsewhere it lives as long as the process
    const auto store = bench.open();
    const Run run = begin(*store);
    plan(*store, run, files({{"1", 1}}));
    const auto lease = good(store->lease(request(run.id)));
    for (int i = 0; i < 5; ++i) {
        bench.pass(milliseconds(8'000));
        CHECK(good(store->beat({.owner = "me"}, milliseconds(10'000))).contains(lease.number));
        CHECK(good(store->take_over(run.id, "you")) == 0);
    }
    // Late, but before anybody else came.
    bench.pass(milliseconds(20'000));
    CHECK(good(store->beat({.owner = "me"}, milliseconds(10'000))).contains(lease.number));
    CHECK(good(store->take_over(run.id, "you")) == 0);
    bench.young = true;
    bench.pass(milliseconds(20'000));
    CHECK(good(store->take_over(run.id, "you")) == 0);  // nobody could beat while it was away
    bench.young = false;
    bench.pass(milliseconds(0));
    CHECK(good(store->take_over(run.id, "you")) == 1);
}

TEST_CASE("one lists a site at a time, and one who lost the lead plans nothing") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    const auto lead = good(store->lead(request(run.id)));
    CHECK(lead != 0);
    CHECK(good(store->lead(request(run.id))) == lead);
    CHECK(good(store->lead(request(run.id, TaskState::waiting, "you"))) == 0);
    good(store->leave("me"));
    const auto other = good(store->lead(request(run.id, TaskState::waiting, "you")));
    CHECK(other > lead);
    CHECK_FALSE(good(store->plan(lead, files({{"1", 1}}), {})));
    CHECK(good(store->view(run.id)).listings[0] == 0);
    CHECK(good(store->plan(other, files({{"2", 1}}), {})));
    CHECK(good(store->view(run.id)).listings[0] == other);
    CHECK(good(store->lead(request(run.id))) == 0);  // it needs no listing
    CHECK_FALSE(good(store->moved_all(run.id, 0)));
    const auto lease = good(store->lease(request(run.id)));
    CHECK(names(lease.tasks) == Names{"2"});
    CHECK_FALSE(good(store->moved_all(run.id, 0)));
    CHECK(good(store->settle(lease.number, all_done(lease))));
    CHECK(good(store->moved_all(run.id, 0)));
    CHECK_FALSE(good(store->moved_all(run.id, 0)));
    CHECK(good(store->view(run.id)).sites[0] == SiteState::tidying);
    const auto tidies = good(store->lead(request(run.id)));
    CHECK(good(store->tidied(tidies, {})));
    CHECK_FALSE(good(store->tidied(tidies, {})));
    CHECK(good(store->view(run.id)).sites[0] == SiteState::done);
    CHECK(good(store->view(run.id)).listings[0] == other);  // who tidied lists nothing
}

TEST_CASE("a long plan is written in parts, counts once it is whole, and each part once") {
    FOR_EVERY_STORE(bench);
    constexpr std::size_t kPart = SqlStore::kPlannedAtOnce;
    Planned planned;
    for (std::size_t i = 0; i < 2 * kPart + 1; ++i)
        planned.tasks.push_back({.root = 0, .name = "f", .standing = {.size = 1}});
    const auto store = good(SqlStore::open(std::make_unique<Doubtful>(bench.database()), "job"));
    const Run run = good(store->join("shape", {"a"}, "me")).run;
    const auto lost = good(store->lead(request(run.id)));
    std::int64_t lead = 0;
    CHECK_FALSE(good(store->plan(lost, planned, [&] {
        CHECK(good(store->view(run.id)).sites[0] == SiteState::unlisted);
        good(store->drop(lost));
        lead = good(store->lead(request(run.id, TaskState::waiting, "you")));
        return Result<void>();
    })));
    CHECK(good(store->view(run.id)).sites[0] == SiteState::unlisted);
    int beats = 0;
    CHECK(good(store->plan(lead, planned, [&] {
        ++beats;
        CHECK(good(store->beat({.owner = "you"}, milliseconds(10))).contains(lead));
        return Result<void>();
    })));
    CHECK(beats == 2);
    CHECK(good(store->view(run.id)).sites[0] == SiteState::moving);
    CHECK(good(store->waiting(run.id, 0)).files == planned.tasks.size());
}

TEST_CASE("who leaves leaves nothing leased") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    plan(*store, run, files({{"1", 1}}));
    CHECK(leased(*store, request(run.id)) == Names{"1"});
    good(store->leave("me"));
    CHECK(leased(*store, request(run.id, TaskState::uncertain, "you")) == Names{"1"});
}

TEST_CASE("a file that is cut is carried by ranges, each once, and then finished") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    plan(*store, run, cut_file());
    CHECK(good(store->sites(run.id))[0].waiting.files == 3);
    CHECK(good(store->sites(run.id))[0].waiting.bytes == 32);
    CHECK(leased(*store, request(run.id)) == Names{"small", "last"});
    std::vector<Lease> ranges;
    for (std::uint64_t first = 0; first < 25; first += 10) {
        ranges.push_back(good(store->lease(request(run.id))));
        REQUIRE(ranges.back().tasks.size() == 1);
        CHECK(ranges.back().tasks[0].piece == Piece::range);
        CHECK(ranges.back().tasks[0].bytes ==
              Range{first, std::min<std::uint64_t>(first + 10, 25)});
        CHECK(ranges.back().tasks[0].standing.size == 25);
    }
    CHECK(leased(*store, request(run.id)).empty());
    CHECK(good(store->settle(ranges[2].number, all_done(ranges[2]))));
    CHECK(good(store->settle(ranges[0].number, all_done(ranges[0]))));
    CHECK(good(store->sites(run.id))[0].moved.bytes == 15);
    CHECK(good(store->sites(run.id))[0].moved.files == 0);

    // The owner of the second is gone: who carries it next is told a larger number.
    CHECK(good(store->conduct()));
    bench.pass(milliseconds(20'000));
    CHECK(good(store->take_over(run.id, "you")) == 2);
    CHECK(leased(*store, request(run.id, TaskState::uncertain, "you")) == Names{"small", "last"});
    const auto again = good(store->lease(request(run.id, TaskState::waiting, "you")));
    REQUIRE(again.tasks.size() == 1);
    CHECK(again.tasks[0].bytes == Range{10, 20});
    CHECK(again.number > ranges[1].number);
    CHECK_FALSE(good(store->settle(ranges[1].number, all_done(ranges[1]))));
    CHECK(leased(*store, request(run.id)).empty());
    CHECK(good(store->settle(again.number, all_done(again))));
    const auto finish = good(store->lease(request(run.id)));
    REQUIRE(finish.tasks.size() == 1);
    CHECK(finish.tasks[0].piece == Piece::finish);
    CHECK(good(store->settle(finish.number, all_done(finish))));
    CHECK(good(store->sites(run.id))[0].moved.files == 1);
    CHECK(good(store->sites(run.id))[0].moved.bytes == 25);
    CHECK(good(store->left_over(run.id)).size() == 2);
}

TEST_CASE("a range that fails for good fails its file, and no other") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    Planned planned = cut_file();
    planned.tasks.push_back(planned.tasks[1]);
    planned.tasks.back().name = "other";
    plan(*store, run, planned);
    CHECK(leased(*store, request(run.id)) == Names{"small", "last"});
    const auto range = good(store->lease(request(run.id)));
    CHECK(good(store->settle(range.number, {{.id = range.tasks[0].id,
                                             .state = TaskState::failed,
                                             .attempts = 4,
                                             .reason = "it changed"}})));
    const auto failures = good(store->failures(run.id, 10));
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].name == "large");
    CHECK(failures[0].error.message == "it changed");
    CHECK(good(store->sites(run.id))[0].failed == 1);
    for (int i = 0; i < 4; ++i) {
        const auto next = good(store->lease(request(run.id)));
        REQUIRE(next.tasks.size() == 1);
        CHECK(next.tasks[0].name == "other");
        CHECK(good(store->settle(next.number, all_done(next))));
    }
    CHECK(leased(*store, request(run.id)).empty());
}

TEST_CASE("files whose attributes alone differ go together, and no byte of them counts") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    Planned planned = files({{"x/1", 600}, {"x/3", 60}, {"y/4", 1}, {"x/2", 600}});
    for (const std::size_t i : {0u, 2u, 3u}) planned.tasks[i].attributes = true;
    plan(*store, run, planned);
    LeaseRequest wanted = request(run.id);
    wanted.most_files = 10;
    wanted.most_bytes = 100;
    const auto lease = good(store->lease(wanted));
    CHECK(names(lease.tasks) == Names{"x/1", "x/2"});
    CHECK(lease.tasks[0].piece == Piece::attributes);
    wanted.ticket = 7;
    CHECK(names(good(store->lease(wanted)).tasks) == Names{"x/3"});
    CHECK(good(store->sites(run.id))[0].waiting.bytes == 60);
    // Of what was cut nothing has to be looked at: it is done again.
    CHECK(good(store->settle(
        lease.number, {{.id = lease.tasks[0].id, .state = TaskState::uncertain},
                       {.id = lease.tasks[1].id, .state = TaskState::done, .moved = true}})));
    wanted.ticket = 8;
    CHECK(names(good(store->lease(wanted)).tasks) == Names{"x/1"});
    CHECK(good(store->sites(run.id))[0].moved.files == 1);
    CHECK(good(store->sites(run.id))[0].moved.bytes == 0);
}

TEST_CASE("a database that cuts its connections is dialled again") {
    FOR_EVERY_STORE(bench);
    if (!shared) return;
    const auto store = bench.open();
    const Run run = begin(*store);
    plan(*store, run, files({{"1", 60}, {"2", 60}}));
    postgres().cut();
    const auto lease = good(store->lease(request(run.id)));
    CHECK(names(lease.tasks) == Names{"1"});
    postgres().cut();
    CHECK(good(store->settle(lease.number, all_done(lease))));
    postgres().cut();
    CHECK(good(store->sites(run.id))[0].moved.files == 1);
    postgres().cut();
    CHECK(good(store->beat({.owner = "me"}, milliseconds(10'000))).empty());
    CHECK(leased(*store, request(run.id)) == Names{"2"});
}

TEST_CASE("connections that are cut at any moment cost no work, and none is done twice") {
    if (!to_be_had(true)) return;
    Bench bench(true);
    constexpr int kMovers = 3, kFiles = 90;
    const auto first = bench.open();
    const Run run = begin(*first);
    Planned planned;
    for (int i = 0; i < kFiles; ++i)
        planned.tasks.push_back({.name = std::to_string(i), .standing = {.size = 1}});
    plan(*first, run, planned);
    std::vector<std::unique_ptr<Store>> stores;
    for (int i = 0; i < kMovers; ++i) stores.push_back(bench.open());
    std::atomic<int> at_work = kMovers, settled = 0, wrong = 0;
    std::atomic<int> events = 0;  // a settling, or the end of a mover: after each all are cut
    const auto happened = [&] {
        ++events;
        events.notify_one();
    };
    std::vector<std::thread> movers;
    for (int i = 0; i < kMovers; ++i) {
        LeaseRequest wanted = request(run.id, TaskState::waiting, "mover " + std::to_string(i));
        wanted.most_files = 2;
        wanted.lives = minutes(10);
        movers.emplace_back([&, i, wanted]() mutable {
            while (wrong == 0) {
                ++wanted.ticket;
                const auto lease = stores[i]->lease(wanted);
                const auto beaten = stores[i]->beat({.owner = wanted.owner}, wanted.lives);
                if (!lease || !beaten) ++wrong;
                if (!lease) break;
                // A session that was cut may hold its rows for a while yet: none is not the end.
                if (lease->number == 0) {
                    const auto left = stores[i]->waiting(run.id, 0);
                    if (!left) ++wrong;
                    if (left && left->files == 0) break;
                    continue;
                }
                if (beaten && !beaten->contains(lease->number)) ++wrong;
                const auto kept = stores[i]->settle(lease->number, all_done(*lease));
                if (kept && *kept) {
                    settled += static_cast<int>(lease->tasks.size());
                    happened();
                } else {
                    ++wrong;
                }
            }
            --at_work;
            happened();
        });
    }
    int seen = events;
    while (at_work > 0) {
        postgres().cut();
        events.wait(seen);
        seen = events;
    }
    for (std::thread& mover : movers) mover.join();
    CHECK(wrong == 0);
    CHECK(settled == kFiles);
    CHECK(good(first->sites(run.id))[0].moved.files == kFiles);
    CHECK(good(first->waiting(run.id, 0)).files == 0);
}

TEST_CASE("whose connection is new gives the others time, since theirs may have been cut too") {
    if (!to_be_had(true)) return;
    Bench bench(true);
    bench.open();
    const auto number = [](Database& database, const char* sql) {
        std::int64_t found = 0;
        good(database.run(sql, {}, [&](const Row& row) { found = row.integer(0); }));
        return found;
    };
    const auto before = bench.database();
    const std::int64_t now = number(*before, "SELECT lambda_ftp.now_ms()");
    const auto later = bench.database();
    CHECK(number(*later, "SELECT lambda_ftp.since_ms()") >= now);
    CHECK(number(*before, "SELECT lambda_ftp.since_ms()") <= now);
}

TEST_CASE("what is in doubt after a lost connection is looked at before it is done again") {
    FOR_EVERY_STORE(bench);
    const auto store = good(SqlStore::open(std::make_unique<Doubtful>(bench.database()), "job"));
    const Run run = good(store->join("shape", {"a"}, "me")).run;
    Planned planned;
    for (int i = 0; i < 60; ++i)
        planned.tasks.push_back(
            {.root = 0, .name = std::to_string(i), .standing = {.size = 1}, .refused = {}});
    LeaseRequest wanted = request(run.id);
    REQUIRE(good(store->lead(wanted)) == good(store->lead(wanted)));
    CHECK(good(store->plan(good(store->lead(wanted)), planned, {})));
    CHECK(good(store->runs(10)).size() == 1);
    std::set<std::string> had;
    for (int i = 0; i < 20; ++i) {
        wanted = request(run.id);
        wanted.most_files = 3;
        const auto lease = good(store->lease(wanted));
        REQUIRE(lease.tasks.size() == 3);
        for (const Task& task : lease.tasks) CHECK(had.insert(task.name).second);
        CHECK(good(store->settle(lease.number, all_done(lease))));
    }
    CHECK(good(store->sites(run.id))[0].moved.files == 60);
    CHECK(good(store->waiting(run.id, 0)).files == 0);
    CHECK(good(store->tallies(run.id))[0].moved.files == 60);
    CHECK(good(store->moved_all(run.id, 0)));
    static_cast<void>(good(store->end_run(run.id, RunState::done, "me")));
    CHECK(good(store->run(run.id))->state == RunState::done);
}

TEST_CASE("who ended a run knows it, though the answer was lost, and nobody else does") {
    FOR_EVERY_STORE(bench);
    const auto store = good(SqlStore::open(std::make_unique<Doubtful>(bench.database()), "job"));
    for (int i = 0; i < 7; ++i) {
        const Run run = good(store->join("shape", {"a"}, "me")).run;
        CHECK(good(store->end_run(run.id, RunState::done, "me")));
        CHECK_FALSE(good(store->end_run(run.id, RunState::done, "you")));
        CHECK_FALSE(good(store->end_run(run.id, RunState::cancelled, "you")));
        CHECK(good(store->run(run.id))->state == RunState::done);
    }
}

TEST_CASE("others may be at work as long as they could not say so") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    good(store->beat({.owner = "you"}, milliseconds(10'000)));
    CHECK(good(store->others("you")).empty());
    CHECK(good(store->others("me")).size() == (shared ? 1 : 0));
    bench.young = true;  // it was away for longer than a lease
    bench.pass(milliseconds(20'000));
    CHECK(good(store->others("me")).size() == (shared ? 1 : 0));
    CHECK(good(store->give_up(run.id, 0, "me", "no network")) == !shared);
    bench.young = false;
    bench.pass(milliseconds(0));
    CHECK(good(store->others("me")).empty());
    CHECK(good(store->give_up(run.id, 0, "me", "no network")));
}

}  // namespace
}  // namespace lambda::client::replicate
