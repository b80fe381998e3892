// What every store keeps to, be it in SQLite or in PostgreSQL: runs, what stands, who may.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/unit/client/replicate/stores.h"

namespace lambda::client::replicate {
namespace {

TEST_CASE("what became of work is kept, across processes") {
    FOR_EVERY_STORE(bench);
    Run run;
    {
        const auto store = bench.open();
        run = begin(*store, "shape", {"a", "b"});
        Planned planned = files({{"1", 10}, {"2", 20}, {"3", 30}, {"4", 40}});
        planned.same = {5, 50};
        planned.tasks.push_back({.root = 0,
                                 .name = "no",
                                 .standing = {.size = 1},
                                 .refused = "why",
                                 .side = Side::local});
        planned.tasks.push_back(
            {.root = 0, .name = "d", .standing = {.kind = Kind::directory}, .refused = {}});
        plan(*store, run, planned);
        LeaseRequest three = request(run.id);
        three.most_files = 3;
        const auto lease = good(store->lease(three));
        REQUIRE(lease.tasks.size() == 3);
        CHECK(good(store->settle(
            lease.number, {{.id = lease.tasks[0].id, .state = TaskState::done, .moved = true},
                           {.id = lease.tasks[1].id,
                            .state = TaskState::waiting,
                            .attempts = 1,
                            .pause = milliseconds(60'000),
                            .reason = "no space"},
                           {.id = lease.tasks[2].id,
                            .state = TaskState::failed,
                            .attempts = 2,
                            .fault = Fault::integrity,
                            .side = Side::remote,
                            .reason = "digests differ"}})));
        CHECK(leased(*store, request(run.id)) == Names{"4"});
        good(store->set_request(Request::pause));
        CHECK(good(store->give_up(run.id, 1, "me", "nobody answers")));
    }
    const auto store = bench.open();
    CHECK(good(store->last_run())->shape == "shape");
    const auto view = good(store->view(run.id));
    CHECK(view.request == Request::pause);
    CHECK(view.run == RunState::running);
    CHECK(view.sites == std::vector{SiteState::moving, SiteState::given_up});
    const auto sites = good(store->sites(run.id));
    REQUIRE(sites.size() == 2);
    CHECK(sites[0].state == SiteState::moving);
    CHECK(sites[0].moved.bytes == 10);
    CHECK(sites[0].waiting.files == 2);
    CHECK(sites[0].failed == 2);
    CHECK(sites[0].same.files == 5);
    CHECK(sites[1].place == "b");
    CHECK(sites[1].trouble == "nobody answers");
    const auto failures = good(store->failures(run.id, 10));
    REQUIRE(failures.size() == 2);
    CHECK(failures[0].error.fault == Fault::integrity);
    CHECK(failures[0].error.message == "digests differ");
    CHECK(failures[1].error.message == "why");
    CHECK(failures[1].error.fault == Fault::file);
    CHECK(failures[1].error.side == Side::local);
    CHECK(names(good(store->untidied(run.id, 0))) == Names{"d"});
    CHECK(good(store->left_over(run.id)).size() == 5);

    // The second waits for its time; the fourth was leased by one who is gone.
    CHECK(leased(*store, request(run.id)).empty());
    const auto waiting = good(store->waiting(run.id, 0));
    CHECK(waiting.files == 2);
    CHECK(waiting.next > milliseconds(30'000));
    CHECK(waiting.next <= milliseconds(60'000));
    CHECK(waiting.reason == "no space");
    CHECK(good(store->conduct()));
    bench.pass(milliseconds(20'000));
    CHECK(good(store->take_over(run.id, "me too")) == 1);
    CHECK(leased(*store, request(run.id, TaskState::uncertain)) == Names{"4"});
    bench.pass(milliseconds(60'000));
    CHECK(leased(*store, request(run.id)) == Names{"2"});
    CHECK(good(store->end_run(run.id, RunState::left_over, "me")));
    CHECK_FALSE(good(store->end_run(run.id, RunState::done, "me")));
    const Run ended = good(store->runs(5)).front();
    CHECK(ended.state == RunState::left_over);
    CHECK(ended.moved.files == 1);
    CHECK(ended.failed == 5);
    CHECK(ended.given_up == 1);
    CHECK(ended.ended >= ended.started);
    good(store->hope_again(run.id));
    CHECK(good(store->view(run.id)).sites[1] == SiteState::unlisted);
}

TEST_CASE("of more failures than are told, digests that differed come first") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store, "shape", {"a"});
    plan(*store, run, files({{"1", 10}, {"2", 20}, {"3", 30}}));
    const auto lease = good(store->lease(request(run.id)));
    REQUIRE(lease.tasks.size() == 3);
    std::vector<Settled> failed;
    for (const Task& task : lease.tasks)
        failed.push_back({.id = task.id, .state = TaskState::failed, .reason = "refused"});
    failed.back().fault = Fault::integrity;
    CHECK(good(store->settle(lease.number, failed)));
    const auto failures = good(store->failures(run.id, 2));
    REQUIRE(failures.size() == 2);
    CHECK(failures[0].name == lease.tasks.back().name);
    CHECK(failures[1].name == lease.tasks.front().name);
}

TEST_CASE("names are raw bytes") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    const std::string odd("\xff\n' \0;", 6);
    Planned planned;
    planned.tasks.push_back({.root = 3,
                             .name = odd,
                             .standing = {.size = UINT64_MAX >> 1, .mtime_ns = -1},
                             .refused = {}});
    plan(*store, run, planned);
    const auto tasks = good(store->lease(request(run.id))).tasks;
    REQUIRE(tasks.size() == 1);
    CHECK(tasks[0].name == odd);
    CHECK(tasks[0].root == 3);
    CHECK(tasks[0].standing.mtime_ns == -1);
    CHECK(tasks[0].standing.size == UINT64_MAX >> 1);
}

TEST_CASE("a plan may be of many entries") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    Planned planned;
    for (int i = 0; i < 1000; ++i)
        planned.tasks.push_back({.root = 0,
                                 .name = std::string(4000, 'x') + std::to_string(i),
                                 .standing = {.size = 1},
                                 .refused = {}});
    plan(*store, run, planned);
    CHECK(good(store->waiting(run.id, 0)).files == 1000);
    LeaseRequest much = request(run.id);
    much.most_files = 1000;
    much.most_bytes = 10'000;
    const auto lease = good(store->lease(much));
    REQUIRE(lease.tasks.size() == 1000);
    CHECK(lease.tasks[999].name == planned.tasks[999].name);
    CHECK(good(store->settle(lease.number, all_done(lease))));
    CHECK(good(store->sites(run.id))[0].moved.files == 1000);
}

TEST_CASE("a run is joined by who has the same job") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run first = begin(*store, "shape");
    const auto joined = good(store->join("shape", {"a"}, "you"));
    CHECK(joined.joined);
    CHECK(joined.run.id == first.id);
    CHECK(good(store->conduct()));
    good(store->beat({.owner = "you"}, milliseconds(10'000)));
    const auto other = store->join("other", {"b"}, "me");
    CHECK(other.ok() != shared);
    if (shared) {
        CHECK(other.error().fault == Fault::usage);
        CHECK_FALSE(good(store->give_up(first.id, 0, "me", "")));
        bench.pass(milliseconds(20'000));  // the other is gone
    }
    const auto fresh = good(store->join("other", {"b"}, "me"));
    CHECK(fresh.joined != shared);
    CHECK(good(store->run(first.id))->state == RunState::cancelled);
}

TEST_CASE("jobs of one database do not know of each other") {
    FOR_EVERY_STORE(bench);
    if (!shared) return;
    const auto one = bench.open("one");
    const auto other = bench.open("other");
    const Run run = begin(*one);
    plan(*one, run, files({{"1", 1}}));
    CHECK_FALSE(good(other->last_run()).has_value());
    const Run second = begin(*other);
    CHECK(leased(*other, request(second.id)).empty());
    good(other->set_request(Request::pause));
    CHECK(good(one->view(run.id)).request == Request::none);
    good(one->beat({.owner = "me", .heartbeat = {}, .doing = "much"}, milliseconds(10'000)));
    CHECK(good(one->movers()).size() == 1);
    CHECK(good(other->movers()).empty());
}

TEST_CASE("one process conducts at a time where the state is a file, others may look") {
    Bench bench(false);
    const auto one = bench.open();
    const auto other = bench.open();
    CHECK(good(one->conduct()));
    CHECK_FALSE(good(other->conduct()));
    const Run run = begin(*one);
    good(one->beat({.owner = "me", .heartbeat = {}, .doing = "much"}, milliseconds(10)));
    CHECK(good(other->movers()).front().doing == "much");
    good(other->set_request(Request::cancel));
    CHECK(good(one->view(run.id)).request == Request::cancel);
    CHECK(good(one->end_run(run.id, RunState::cancelled, "me")));
    CHECK(good(one->view(run.id)).request == Request::none);
}

TEST_CASE("the state's files are their user's alone, whatever the umask") {
    const Scratch scratch;
    const ::mode_t before = ::umask(0);
    const auto database = good(SqliteDatabase::open(scratch / "state.db"));
    CHECK(good(database->conduct()));
    good(database->execute("CREATE TABLE kept (number INTEGER)"));
    ::umask(before);
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(scratch / "")) {
        using std::filesystem::perms;
        names.insert(file.path().filename());
        CHECK(file.status().permissions() == (perms::owner_read | perms::owner_write));
    }
    CHECK(names ==
          std::set<std::string>{"state.db", "state.db-shm", "state.db-wal", "state.db.lock"});
}

TEST_CASE("a state that cannot be written says why the system refuses it") {
    const Scratch scratch;
    const auto database = good(SqliteDatabase::open(scratch / "state.db"));
    struct rlimit before {};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto heard = ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit none {
        .rlim_cur = 1, .rlim_max = before.rlim_max
    };
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
    const auto written = database->execute("CREATE TABLE kept (number INTEGER)");
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, heard);
    REQUIRE_FALSE(written.ok());
    CHECK_THAT(written.error().message, Catch::Contains(std::strerror(EFBIG)));
}

TEST_CASE("who opens a state while another makes it waits for him") {
    const Scratch scratch;
    constexpr int kRounds = 40, kOpeners = 4;
    for (int round = 0; round < kRounds; ++round) {
        const std::string name = scratch / ("state-" + std::to_string(round) + ".db");
        std::barrier together(kOpeners);
        std::vector<Result<std::unique_ptr<SqliteDatabase>>> opened;
        for (int i = 0; i < kOpeners; ++i) opened.emplace_back(Error{});
        {
            std::vector<std::jthread> openers;
            for (auto& each : opened)
                openers.emplace_back([&] {
                    together.arrive_and_wait();
                    each = SqliteDatabase::open(name);
                });
        }
        for (auto& each : opened) good(std::move(each));
    }
}

TEST_CASE("what is no state is refused") {
    const Scratch scratch;
    const std::string text = scratch.write("text", std::string(4096, 'x'));
    const Error damaged = open_store(text, "job", {}, {}).error();
    CHECK(damaged.fault == Fault::file);
    CHECK_THAT(damaged.remedy, Catch::StartsWith("move the file away"));
    CHECK_FALSE(open_store("/proc/none/state.db", "job", {}, {}).ok());
    CHECK(open_store("postgresql://h/d?none=1", "job", {}, {}).error().fault == Fault::usage);
    const auto nobody = open_store("postgresql://%2Fnone/d", "job", {}, {});
    REQUIRE_FALSE(nobody.ok());
    CHECK(nobody.error().fault == Fault::session);
    CHECK(has_password("postgresql://ann:secret@h/d"));
    CHECK(has_password("postgresql://ann@h/d?password=secret"));
    CHECK_FALSE(has_password("postgresql://ann@h/d"));
}

TEST_CASE("the state of a later version is refused") {
    FOR_EVERY_STORE(bench);
    bench.open();
    good(bench.database()->execute(shared ? "UPDATE version SET number = 99"
                                          : "PRAGMA user_version = 99"));
    const auto later = SqlStore::open(bench.database(), "job");
    REQUIRE_FALSE(later.ok());
    CHECK_THAT(later.error().message, Catch::Contains("another version"));
}

TEST_CASE("movers that begin at the same time make the tables once, and one run") {
    if (!to_be_had(true)) return;
    const char* const isolation = GENERATE("read committed", "serializable");
    CAPTURE(isolation);
    const std::string uri = postgres().fresh();
    const std::string name = uri.substr(uri.rfind('/') + 1);
    good(good(PostgresDatabase::open(uri, {}))
             ->execute("ALTER DATABASE " + name + " SET default_transaction_isolation = '" +
                       isolation + "'"));
    constexpr std::size_t kMovers = 6;
    std::vector<Result<Store::Joined>> joined(kMovers, Error{});
    std::barrier together(kMovers);
    std::vector<std::thread> movers;
    for (std::size_t i = 0; i < kMovers; ++i) {
        movers.emplace_back([&, i] {
            together.arrive_and_wait();
            const auto store = open_store(uri, "job", minutes(1), minutes(10));
            joined[i] = store ? (*store)->join("shape", {"a"}, "mover " + std::to_string(i))
                              : Result<Store::Joined>(store.error());
        });
    }
    for (std::thread& mover : movers) mover.join();
    std::size_t first = 0;
    for (const auto& each : joined) {
        INFO((each ? "" : each.error().sentence()));
        REQUIRE(each.ok());
        CHECK(each->run.id == joined[0]->run.id);
        first += each->joined ? 0 : 1;
    }
    CHECK(first == 1);
}

TEST_CASE("a later run forgets the work of those before, not their totals") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    std::vector<Run> begun;
    for (int i = 0; i < 3; ++i) {
        begun.push_back(begin(*store));
        plan(*store, begun.back(), files({{"1", 10}}));
        CHECK(good(store->end_run(begun.back().id, RunState::cancelled, "me")));
    }
    forget_all(*store, begun.back());
    CHECK(good(store->left_over(begun[0].id)).empty());
    CHECK(good(store->left_over(begun[1].id)).size() == (shared ? 1 : 0));
    CHECK(good(store->left_over(begun[2].id)).size() == 1);
    const auto runs = good(store->runs(10));
    REQUIRE(runs.size() == 3);
    CHECK(runs[1].state == RunState::cancelled);
    CHECK(runs[1].failed == 1);
}

// Tasks by SQL, more than go in one step.
constexpr std::int64_t kMany = 2 * SqlStore::kForgottenAtOnce + 5;
void add_many_tasks(Bench& bench, const Run& run) {
    good(bench.database()->execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(kMany) + ") INSERT INTO task(run, site, state, kind, name) SELECT " +
        std::to_string(run.id) + ", 0, 0, 0, '' FROM n"));
}
std::int64_t count_tasks(Bench& bench) {
    std::int64_t count = 0;
    good(bench.database()->run("SELECT count(*) FROM task", {},
                               [&](const Row& row) { count = row.integer(0); }));
    return count;
}

TEST_CASE("a run begins with all that earlier ones left, and forgets it in steps") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    add_many_tasks(bench, begin(*store));
    Run last;
    for (int i = 0; i < 2; ++i) {
        CHECK(good(store->end_run(good(store->last_run())->id, RunState::cancelled, "me")));
        last = begin(*store);
    }
    std::vector<std::int64_t> left{count_tasks(bench)};
    while (good(store->forget(last.id))) left.push_back(count_tasks(bench));
    left.erase(std::unique(left.begin(), left.end()), left.end());  // leases go after them
    CHECK(left == std::vector<std::int64_t>{kMany, kMany - SqlStore::kForgottenAtOnce, 5, 0});
}

TEST_CASE("what a plan that was cut left is deleted in steps, between which its owner may beat") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    add_many_tasks(bench, run);
    std::vector<std::int64_t> left;
    const auto between = [&]() -> Result<void> {
        left.push_back(count_tasks(bench));
        return {};
    };
    CHECK(good(store->plan(good(store->lead(request(run.id))), files({{"1", 10}}), between)));
    CHECK(left == std::vector<std::int64_t>{kMany - SqlStore::kForgottenAtOnce, 5, 0});
    CHECK(count_tasks(bench) == 1);
}

TEST_CASE("a job's history and work do not depend on how many runs other jobs have") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    std::vector<Run> begun;
    const auto next = [&] {
        if (!begun.empty()) CHECK(good(store->end_run(begun.back().id, RunState::cancelled, "me")));
        begun.push_back(begin(*store));
        plan(*store, begun.back(), files({{"1", 10}}));
        forget_all(*store, begun.back());
    };
    next();
    good(bench.database()->execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
        "INSERT INTO run(job, started) SELECT 99, 0 FROM n"));
    good(store->beat({.owner = "dead"}, milliseconds(10'000)));
    bench.pass(std::chrono::hours(25));
    next();
    CHECK(good(store->runs(10)).size() == 2);
    CHECK(good(store->left_over(begun[0].id)).size() == (shared ? 1 : 0));
    next();
    CHECK(good(store->left_over(begun[0].id)).empty());
    CHECK(good(store->runs(10)).size() == 3);
    CHECK(good(bench.database()->run("SELECT 1 FROM mover")) == 0);
}

TEST_CASE("a run whose cancel nobody lived to hear is not joined") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    good(store->beat({.owner = "you"}, milliseconds(10'000)));
    good(store->set_request(Request::cancel));
    if (shared) CHECK(good(store->join("shape", {"a"}, "me")).joined);
    bench.pass(milliseconds(20'000));
    const auto fresh = good(store->join("shape", {"a"}, "me"));
    CHECK_FALSE(fresh.joined);
    CHECK_FALSE(fresh.replaced);
    CHECK(good(store->run(run.id))->state == RunState::cancelled);
    CHECK(good(store->view(fresh.run.id)).request == Request::none);
}

TEST_CASE("a cancel of a run under way is taken back by nobody") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    const Run run = begin(*store);
    CHECK(good(store->set_request(Request::pause)));
    CHECK(good(store->set_request(Request::cancel)));
    for (const Request request : {Request::none, Request::pause}) {
        CHECK_FALSE(good(store->set_request(request)));
        CHECK(good(store->view(run.id)).request == Request::cancel);
    }
    good(store->end_run(run.id, RunState::done, "me"));  // nobody heard it
    CHECK(good(store->set_request(Request::pause)));
    CHECK(good(store->view(run.id)).request == Request::pause);
}

TEST_CASE("a cancel that came too late is not the next run's, a pause is") {
    FOR_EVERY_STORE(bench);
    const auto store = bench.open();
    good(store->set_request(Request::cancel));
    Run run = begin(*store);
    CHECK(good(store->view(run.id)).request == Request::none);
    good(store->set_request(Request::pause));
    CHECK(good(store->end_run(run.id, RunState::done, "me")));
    run = begin(*store);
    CHECK(good(store->view(run.id)).request == Request::pause);
}

}  // namespace
}  // namespace lambda::client::replicate
