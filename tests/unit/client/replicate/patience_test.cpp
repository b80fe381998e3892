// What is waited for and for how long, and what several movers give up: in virtual time, on a real
// store.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/unit/client/replicate/conductor_bench.h"

namespace lambda::client::replicate {
namespace {

TEST_CASE("a lease that its owner does not know of is handed back") {
    JobBench bench(1, "batch_files: 1\n", true);
    bench.fill(4, 1'000'000);
    bench.world.bytes_per_ms = 1000;
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.interrupted_at = kMonday + minutes(10);
    Lease lost;
    crew.at_wait = [&](WallTime at) {
        if (at < kMonday + milliseconds(1500) || lost.number != 0) return;
        const auto leased = bench.store->lease({.owner = "process 1",
                                                .ticket = 99'999,
                                                .run = run.id,
                                                .site = 0,
                                                .most_files = 1,
                                                .most_bytes = 100'000'000,
                                                .lives = seconds(60)});
        REQUIRE(leased.ok());
        lost = *leased;
    };
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    REQUIRE(lost.number != 0);
    CHECK(ending->how == Ending::How::finished);
    bench.check_identical();
}

TEST_CASE("patience begins with the first trouble, however long nobody spoke to a destination") {
    JobBench bench(2, "patience: 1min\n");
    bench.world.add("big", 180'000'000);
    bench.world.bytes_per_ms = 1000;
    bench.world.down = [](std::size_t, WallTime at) {
        return at > kMonday + seconds(100) && at < kMonday + seconds(200);
    };
    VirtualCrew crew(bench.world, 1, kMonday);  // the second waits for the first
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->errors.empty());
    CHECK(bench.world.sites[0].size() + bench.world.sites[1].size() == 2);
    CHECK(crew.now() > kMonday + seconds(380));
}

TEST_CASE("a file that another session writes is moved when that ends, whatever `retries` says") {
    JobBench bench(1, "retries: 0\nbatch_files: 4\n");
    bench.fill(10, 1000);
    bench.world.held = [](const std::string& name, WallTime at) {
        return name == "f3" && at < kMonday + minutes(3);
    };
    VirtualCrew crew(bench.world, 1, kMonday);
    const Run run = bench.begin(kMonday);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->errors.empty());
    CHECK(bench.store->failures(run.id, 10)->empty());
    bench.check_identical();
    CHECK(crew.now() < kMonday + minutes(4));
    CHECK(bench.world.carried.size() < 25);  // with pauses
}

TEST_CASE("a file that another session never lets go is left over, and it alone") {
    JobBench bench(1, "retries: 1\npatience: 2min\n");
    bench.fill(10, 1000);
    bench.world.held = [](const std::string& name, WallTime) { return name == "f3"; };
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.interrupted_at = kMonday + minutes(30);
    const Run run = bench.begin(kMonday);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::finished);
    CHECK(ending->errors.empty());
    CHECK(bench.store->view(run.id)->sites[0] == SiteState::done);
    const auto failures = bench.store->failures(run.id, 10);
    REQUIRE(failures.ok());
    REQUIRE(failures->size() == 1);
    CHECK((*failures)[0].name == "f3");
    CHECK((*failures)[0].error.fault == Fault::file);
    CHECK(bench.world.sites[0].size() == 9);
    CHECK(crew.now() >= kMonday + minutes(2));
    CHECK(crew.now() < kMonday + minutes(4));
}

TEST_CASE("a range that another session holds is waited for, within patience") {
    const bool for_ever = GENERATE(false, true);
    CAPTURE(for_ever);
    JobBench bench(1, "patience: 2min\nsplit_size: 1MiB\n", true);
    bench.world.add("big", 3 << 20);
    bench.world.held = [&](const std::string&, WallTime at) {
        return for_ever || at < kMonday + minutes(1);
    };
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.interrupted_at = kMonday + minutes(30);
    const Run run = bench.begin(kMonday);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::finished);
    CHECK(ending->errors.size() == (for_ever ? 1 : 0));
    CHECK(bench.world.sites[0].size() == (for_ever ? 0 : 1));
    CHECK(crew.now() < kMonday + minutes(3));
}

// Two movers in one virtual time: each waits until its time has come.
class Two {
  public:
    explicit Two(JobBench& bench) : bench_(bench) {
        for (auto& store : stores_) store = bench.open();
    }
    std::vector<Result<Ending>> conduct(const Run& run) {
        std::vector<Result<Ending>> endings(2, Result<Ending>(Ending{}));
        VirtualCrew crews[2] = {{bench_.world, 1, kMonday}, {bench_.world, 1, kMonday}};
        std::vector<std::thread> movers;
        for (std::size_t i = 0; i < 2; ++i) {
            movers.emplace_back([&, i] {
                VirtualCrew& crew = crews[i];
                crew.at_wait = [&, i](WallTime at) { take_turn(i, at); };
                take_turn(i, kMonday);
                Conductor conductor(bench_.job, *stores_[i], crew, "mover " + std::to_string(i),
                                    [](const std::string&) {});
                endings[i] = conductor.conduct(run);
                take_turn(i, WallTime::max());
            });
        }
        for (std::thread& mover : movers) mover.join();
        return endings;
    }

  private:
    void take_turn(std::size_t mover, WallTime at) {
        std::unique_lock lock(mutex_);
        at_[mover] = at;
        turn_.notify_all();
        if (at == WallTime::max()) return;
        const std::size_t other = 1 - mover;
        turn_.wait(lock, [&] {
            return at_[other] && std::pair(*at_[mover], mover) < std::pair(*at_[other], other);
        });
        bench_.world.now = at;
    }

    JobBench& bench_;
    std::unique_ptr<Store> stores_[2];
    std::mutex mutex_;
    std::condition_variable turn_;
    std::optional<WallTime> at_[2];
};

// Another mover dies at once, with work in hand at the second destination.
struct DeadMover {
    DeadMover(JobBench& bench, const Run& run, VirtualCrew& crew) {
        crew.at_wait = [this, &bench, id = run.id](WallTime at) {
            const auto doing = bench.store->view(id)->sites[1];
            if (lease.number != 0 || at < kMonday + seconds(1) || doing != SiteState::moving)
                return;
            lease = good(bench.store->lease({.owner = "dead",
                                             .ticket = 1,
                                             .run = id,
                                             .site = 1,
                                             .most_files = 2,
                                             .most_bytes = 100,
                                             .lives = seconds(60)}));
            good(bench.store->beat({.owner = "dead"}, seconds(60)));
            died = at;
        };
    }
    Lease lease;
    WallTime died{};
};

constexpr bool kFile = false, kPostgres = true;
std::string fresh_if(bool postgres_wanted) {
    return postgres_wanted ? postgres().fresh() : std::string();
}

TEST_CASE("what a mover had in hand that is dead is waited for, taken over and done") {
    const bool where = GENERATE(kFile, kPostgres);
    if (!to_be_had(where)) return;
    CAPTURE(where);
    JobBench bench(2, "lease: 1min\n", true, fresh_if(where));
    bench.fill(20, 10);
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.interrupted_at = kMonday + minutes(30);
    bench.world.session = milliseconds(900);
    const DeadMover dead(bench, run, crew);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    REQUIRE(dead.lease.tasks.size() == 2);
    CHECK(ending->how == Ending::How::finished);
    CHECK(ending->errors.empty());
    bench.check_identical();
    CHECK(crew.now() >= dead.died + minutes(1));
    CHECK(crew.now() < dead.died + minutes(2));
}

TEST_CASE("who gave up what others may reach leaves once it is known whether they live") {
    const bool where = GENERATE(kFile, kPostgres);
    if (!to_be_had(where)) return;
    CAPTURE(where);
    JobBench bench(2, "lease: 1min\npatience: 10s\n", true, fresh_if(where));
    bench.fill(20, 10);
    bench.world.session = milliseconds(900);
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.interrupted_at = kMonday + minutes(30);
    DeadMover dead(bench, run, crew);
    bench.world.down = [&](std::size_t site, WallTime) {
        return site == 1 && dead.lease.number != 0;
    };
    const auto work = crew.at_wait;
    WallTime woke{};
    SECTION("one that is dead: the run ends when its lease does") {}
    SECTION("one that lives: the run is left to it at once") {
        crew.at_wait = [&](WallTime at) {
            work(at);
            if (dead.lease.number == 0 || at < dead.died + seconds(20)) return;
            if (woke == kNoTime) woke = at;
            good(bench.store->beat({.owner = "dead"}, seconds(60)));
        };
    }
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    REQUIRE(dead.lease.tasks.size() == 2);
    REQUIRE(ending->errors.size() == 1);
    CHECK_THAT(ending->errors[0].message, Catch::Contains("given up"));
    CHECK(bench.world.sites[0].size() == 20);
    const auto site = bench.store->view(run.id)->sites[1];
    if (woke == kNoTime) {
        CHECK(ending->how == Ending::How::finished);
        CHECK(site == SiteState::given_up);
        CHECK(crew.now() >= dead.died + minutes(1));
        CHECK(crew.now() < dead.died + seconds(65));
    } else {
        CHECK(ending->how == Ending::How::left);
        CHECK(site == SiteState::moving);
        CHECK(crew.now() < woke + seconds(2));
    }
}

TEST_CASE("the last of several movers gives up what none could reach") {
    JobBench bench(2, "patience: 1min\nbatch_files: 1\n", true);
    bench.fill(8, 30'000'000);
    bench.world.bytes_per_ms = 1000;
    bench.world.down = [](std::size_t site, WallTime) { return site == 1; };
    const Run run = bench.begin(kMonday);
    const auto endings = Two(bench).conduct(run);
    std::size_t finished = 0;
    for (const Result<Ending>& ending : endings) {
        REQUIRE(ending.ok());
        CHECK(ending->unreached.size() == 1);
        finished += ending->how == Ending::How::finished ? 1 : 0;
    }
    CHECK(finished == 1);
    CHECK(bench.world.sites[0].size() == 8);
    CHECK(bench.store->view(run.id)->sites == std::vector{SiteState::done, SiteState::given_up});
    CHECK_THAT(bench.store->sites(run.id)->at(1).trouble, Catch::Contains("no network"));
}

}  // namespace
}  // namespace lambda::client::replicate
