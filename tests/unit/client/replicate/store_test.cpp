#include "client/replicate/sqlite_store.h"
#include "tests/support/catch.h"
#include "tests/unit/client/scratch.h"

namespace lambda::client::replicate {
namespace {

using std::chrono::milliseconds;

constexpr WallTime kNow{milliseconds(1'000'000)};

std::unique_ptr<SqliteStore> open(const std::string& file) {
    auto store = SqliteStore::open(file);
    INFO((store ? "" : store.error().sentence()));
    REQUIRE(store.ok());
    return *std::move(store);
}

template <typename T>
T good(Result<T> result) {
    INFO((result ? "" : result.error().sentence()));
    REQUIRE(result.ok());
    return *std::move(result);
}
void good(const Result<void>& result) {
    INFO((result ? "" : result.error().sentence()));
    REQUIRE(result.ok());
}

Planned files(std::initializer_list<std::pair<const char*, std::uint64_t>> all) {
    Planned planned;
    for (const auto& [name, size] : all)
        planned.tasks.push_back(
            {.root = 0, .name = name, .standing = {.size = size, .mtime_ns = 7}, .refused = {}});
    return planned;
}

LeaseRequest request(std::int64_t run, TaskState from = TaskState::waiting) {
    return {.owner = "me",
            .run = run,
            .site = 0,
            .from = from,
            .most_files = 10,
            .most_bytes = 100,
            .one_directory = false,
            .now = kNow,
            .until = kNow + milliseconds(5)};
}

std::vector<std::string> names(const std::vector<Task>& tasks) {
    std::vector<std::string> all;
    for (const Task& task : tasks) all.push_back(task.name);
    return all;
}
using Names = std::vector<std::string>;

TEST_CASE("work is leased in order, in loads of a bounded size, and once") {
    const Scratch scratch;
    const auto store = open(scratch / "deep/er/state.db");
    const Run run = good(store->begin_run("shape", {"a"}, kNow));
    good(store->plan(run.id, 0,
                     files({{"x/1", 60}, {"x/big", 500}, {"y/2", 40}, {"x/3", 1}, {"x/4", 0}})));
    CHECK(names(good(store->lease(request(run.id)))) == Names{"x/1", "y/2"});
    CHECK(names(good(store->lease(request(run.id)))) == Names{"x/big"});  // alone
    LeaseRequest one = request(run.id);
    one.most_files = 1;
    CHECK(names(good(store->lease(one))) == Names{"x/3"});
    CHECK(names(good(store->lease(one))) == Names{"x/4"});
    CHECK(good(store->lease(one)).empty());
    good(store->plan(run.id, 0, files({{"x/1", 1}, {"y/2", 1}, {"x/3", 1}})));
    LeaseRequest together = request(run.id);
    together.one_directory = true;
    CHECK(names(good(store->lease(together))) == Names{"x/1", "x/3"});
}

TEST_CASE("what became of work is kept, across processes") {
    const Scratch scratch;
    Run run;
    {
        const auto store = open(scratch / "state.db");
        run = good(store->begin_run("shape", {"a", "b"}, kNow));
        Planned planned = files({{"1", 10}, {"2", 20}, {"3", 30}, {"4", 40}});
        planned.same = {5, 50};
        planned.tasks.push_back({.root = 0,
                                 .name = "no",
                                 .standing = {.size = 1},
                                 .refused = "why",
                                 .side = Side::local});
        planned.tasks.push_back(
            {.root = 0, .name = "d", .standing = {.kind = Kind::directory}, .refused = {}});
        good(store->plan(run.id, 0, planned));
        const auto tasks = good(store->lease(request(run.id)));
        REQUIRE(tasks.size() == 4);
        good(store->settle({{.id = tasks[0].id, .state = TaskState::done, .moved = true},
                            {.id = tasks[1].id,
                             .state = TaskState::waiting,
                             .attempts = 1,
                             .not_before = kNow + milliseconds(9)},
                            {.id = tasks[2].id,
                             .state = TaskState::failed,
                             .attempts = 2,
                             .fault = Fault::integrity,
                             .side = Side::remote,
                             .reason = "digests differ"}}));
        good(store->set_request(Request::pause));
        good(store->set_site(run.id, 1, SiteState::given_up, "nobody answers"));
    }
    const auto store = open(scratch / "state.db");
    CHECK(good(store->last_run())->shape == "shape");
    CHECK(good(store->request()) == Request::pause);
    const auto sites = good(store->sites(run.id));
    REQUIRE(sites.size() == 2);
    CHECK(sites[0].state == SiteState::moving);
    CHECK(sites[0].moved.bytes == 10);
    CHECK(sites[0].waiting.files == 2);
    CHECK(sites[0].failed == 2);
    CHECK(sites[0].same.files == 5);
    CHECK(sites[1].state == SiteState::given_up);
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
    CHECK(good(store->lease(request(run.id))).empty());
    CHECK(good(store->waiting(run.id, 0)).next == kNow + milliseconds(9));
    CHECK(good(store->conduct()));
    good(store->take_over(run.id, "me too", kNow));
    CHECK(names(good(store->lease(request(run.id, TaskState::uncertain)))) == Names{"4"});
    good(store->end_run(run.id, RunState::left_over, kNow + milliseconds(3)));
    const Run ended = good(store->runs(5)).front();
    CHECK(ended.moved.files == 1);
    CHECK(ended.failed == 5);
    CHECK(ended.ended == kNow + milliseconds(3));
}

TEST_CASE("names are raw bytes") {
    const Scratch scratch;
    const auto store = open(scratch / "state.db");
    const Run run = good(store->begin_run("", {"a"}, kNow));
    const std::string odd("\xff\n' \0;", 6);
    Planned planned;
    planned.tasks.push_back({.root = 3,
                             .name = odd,
                             .standing = {.size = UINT64_MAX >> 1, .mtime_ns = -1},
                             .refused = {}});
    good(store->plan(run.id, 0, planned));
    const auto tasks = good(store->lease(request(run.id)));
    REQUIRE(tasks.size() == 1);
    CHECK(tasks[0].name == odd);
    CHECK(tasks[0].root == 3);
    CHECK(tasks[0].standing.mtime_ns == -1);
    CHECK(tasks[0].standing.size == UINT64_MAX >> 1);
}

TEST_CASE("one process conducts at a time, others may look") {
    const Scratch scratch;
    const auto one = open(scratch / "state.db");
    const auto other = open(scratch / "state.db");
    CHECK(good(one->conduct()));
    CHECK_FALSE(good(other->conduct()));
    good(one->beat({.owner = "me", .heartbeat = kNow, .doing = "much"}, kNow));
    CHECK(good(other->mover())->doing == "much");
    good(other->set_request(Request::cancel));
    CHECK(good(one->request()) == Request::cancel);
}

TEST_CASE("a file that is no state is refused") {
    const Scratch scratch;
    const std::string text = scratch.write("text", std::string(4096, 'x'));
    CHECK(SqliteStore::open(text).error().fault == Fault::file);
    CHECK_FALSE(SqliteStore::open("/proc/none/state.db").ok());
    {
        const auto database = Database::open(scratch / "later");
        REQUIRE(database.ok());
        good((*database)->execute("PRAGMA user_version = 99"));
    }
    const auto later = SqliteStore::open(scratch / "later");
    REQUIRE_FALSE(later.ok());
    CHECK_THAT(later.error().message, Catch::Contains("another version"));
}

TEST_CASE("a later run forgets the work of those before, not their totals") {
    const Scratch scratch;
    const auto store = open(scratch / "state.db");
    const Run first = good(store->begin_run("", {"a"}, kNow));
    good(store->plan(first.id, 0, files({{"1", 10}})));
    good(store->end_run(first.id, RunState::cancelled, kNow));
    const Run second = good(store->begin_run("", {"a"}, kNow));
    CHECK(second.id == first.id + 1);
    CHECK(good(store->left_over(first.id)).empty());
    const auto runs = good(store->runs(10));
    REQUIRE(runs.size() == 2);
    CHECK(runs[1].state == RunState::cancelled);
    CHECK(runs[1].failed == 1);
}

TEST_CASE("a cancel that came too late is not the next run's, a pause is") {
    const Scratch scratch;
    const auto store = open(scratch / "state.db");
    good(store->set_request(Request::cancel));
    good(store->begin_run("", {"a"}, kNow));
    CHECK(good(store->request()) == Request::none);
    good(store->set_request(Request::pause));
    good(store->begin_run("", {"a"}, kNow));
    CHECK(good(store->request()) == Request::pause);
}

}  // namespace
}  // namespace lambda::client::replicate
