// Whole runs in virtual time, on a real store.
#include "client/replicate/conductor.h"

#include <algorithm>
#include <random>

#include "tests/unit/client/replicate/conductor_bench.h"

namespace lambda::client::replicate {
namespace {

TEST_CASE("a run makes every destination like the sources, and the next has nothing to do") {
    JobBench bench(3, "batch_files: 7\n");
    bench.fill(100, 1000);
    bench.world.source["."] = {.kind = Kind::directory, .size = 0, .mtime_ns = 1, .mode = 0755};
    bench.world.add("big", 1 << 30);
    bench.world.sites[2]["f3"] = bench.world.source["f3"];  // adopted
    VirtualCrew crew(bench.world, 2, kMonday);
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::finished);
    CHECK(ending->errors.empty());
    bench.check_identical();
    CHECK_FALSE(bench.world.moved.contains({2, "f3"}));
    const std::size_t loads = bench.world.carried.size();
    REQUIRE(bench.conduct(bench.begin(crew.now()), crew).ok());
    CHECK(bench.world.carried.size() == loads);
}

TEST_CASE("killed anywhere it goes on, and nothing that is done moves again") {
    const auto seed = GENERATE(range(0u, 6u));
    CAPTURE(seed);
    std::mt19937 random(seed);
    JobBench bench(2, "batch_files: 9\n");
    bench.fill(200, 100'000);
    bench.world.bytes_per_ms = 1000;
    const Run run = bench.begin(kMonday);
    WallTime now = kMonday;
    struct Kill {};
    for (int kills = 0; kills < 20; ++kills) {
        bench.reopen();
        VirtualCrew crew(bench.world, 2, now);
        const WallTime death = now + milliseconds(std::uniform_int_distribution(1, 2500)(random));
        crew.at_wait = [&](WallTime at) {
            if (at >= death) throw Kill{};
        };
        try {
            const auto ending = bench.conduct(run, crew);  // REQUIRE would catch a kill
            REQUIRE(ending.ok());
        } catch (const Kill&) {
            crew.at_wait = {};
            // What was under way came halfway, and nobody heard of it.
            crew.stop();
            static_cast<void>(crew.take());
        }
        now = crew.now();
    }
    bench.reopen();
    VirtualCrew crew(bench.world, 2, now);
    REQUIRE(bench.conduct(run, crew).ok());
    bench.check_identical();
}

TEST_CASE("a destination that is down for a while holds up no other") {
    JobBench bench(2, "batch_files: 10\n");
    bench.fill(100, 1000);
    bench.world.down = [](std::size_t site, WallTime at) {
        return site == 1 && at >= kMonday + seconds(1) && at < kMonday + minutes(1);
    };
    VirtualCrew crew(bench.world, 2, kMonday);
    WallTime first_done{};
    crew.at_wait = [&](WallTime at) {
        if (first_done == kNoTime && bench.world.sites[0].size() == 100) first_done = at;
    };
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->errors.empty());
    bench.check_identical();
    CHECK(first_done < kMonday + seconds(30));
    CHECK(crew.now() > kMonday + minutes(1));
}

TEST_CASE("a destination that stays down is given up, and tried again by the next run") {
    JobBench bench(2, "patience: 10min\n");
    bench.fill(10, 1000);
    bool down = true;
    bench.world.down = [&](std::size_t site, WallTime) { return site == 1 && down; };
    VirtualCrew crew(bench.world, 2, kMonday);
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    REQUIRE(ending->unreached.size() == 1);
    CHECK_THAT(ending->unreached[0].message, Catch::Contains("site1:x: given up"));
    CHECK(crew.now() >= kMonday + minutes(10));
    CHECK(crew.now() < kMonday + minutes(13));
    CHECK(bench.world.sites[0].size() == 10);
    down = false;
    REQUIRE(bench.conduct(bench.begin(crew.now()), crew).ok());
    bench.check_identical();
}

TEST_CASE("a destination that control reaches and data do not is given up") {
    JobBench bench(2, "patience: 10min\nconcurrency: 4\nbatch_files: 10\n");
    bench.fill(100, 1000);
    bench.world.deaf = {1};
    VirtualCrew crew(bench.world, 4, kMonday);
    crew.at_wait = [&](WallTime at) {
        if (at > kMonday + hours(2)) crew.interrupted_at = at;
    };
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::finished);
    REQUIRE(ending->errors.size() == 1);
    CHECK_THAT(ending->errors[0].message, Catch::Contains("site1:x: given up"));
    CHECK(crew.now() >= kMonday + minutes(10));
    CHECK(crew.now() < kMonday + minutes(13));
    CHECK(bench.world.sites[0].size() == 100);
    CHECK(bench.world.carried.size() < 100);  // with pauses between them
}

TEST_CASE("sources that could not be read and are too many to be told are said all the same") {
    JobBench bench(1);
    bench.fill(3, 1000);
    bench.world.missed_beyond = 7;
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    REQUIRE(ending->errors.size() == 1);
    CHECK(ending->errors.front().fault == Fault::file);
    CHECK(ending->errors.front().message.starts_with("7 more entries"));
    bench.check_identical();
}

TEST_CASE("what failed with directories and links and was not told of counts as done nowhere") {
    JobBench bench(1);
    bench.fill(3, 1000);
    bench.world.source["link"] = {.kind = Kind::link, .size = 0, .mtime_ns = 42, .mode = 0777};
    bench.world.untold = 1;
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    REQUIRE(bench.conduct(run, crew).ok());
    const auto failures = bench.store->failures(run.id, 100);
    REQUIRE(failures.ok());
    REQUIRE(failures->size() == 1);
    CHECK(failures->front().name == "link");
}

TEST_CASE("what an outcome does not name is looked at, and moves again where it is not done") {
    JobBench bench(1, "batch_files: 10\nretries: 2\n");
    bench.fill(30, 1000);
    bench.world.wordless = 2;
    VirtualCrew crew(bench.world, 1, kMonday);
    const Run run = bench.begin(kMonday);
    REQUIRE(bench.conduct(run, crew).ok());
    CHECK(good(bench.store->failures(run.id, 100)).empty());
    bench.check_identical();
}

TEST_CASE("transfers side by side share their seconds") {
    JobBench bench(2, "batch_files: 10\n");
    bench.fill(40, 1000);
    VirtualCrew crew(bench.world, 4, kMonday);
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->moved.files == 80);
    CHECK(ending->moved.transfer_seconds > 0);
    CHECK(ending->moved.transfer_seconds <=
          std::chrono::duration<double>(crew.now() - kMonday).count());
}

TEST_CASE("a source that could not be read is left over at each destination, also after a cut") {
    JobBench bench(2, "batch_files: 1\n");
    bench.fill(20, 1'000'000);
    bench.world.bytes_per_ms = 1000;
    bench.world.missed = {{.root = 0,
                           .name = "sealed",
                           .error = {.fault = Fault::file,
                                     .message = "permission denied",
                                     .path = "/data/sealed",
                                     .side = Side::local,
                                     .remedy = "ask its owner"}}};
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.interrupted_at = kMonday + seconds(12);
    const auto cut = bench.conduct(run, crew);
    REQUIRE(cut.ok());
    REQUIRE(cut->how == Ending::How::interrupted);
    bench.world.missed.clear();
    bench.reopen();
    VirtualCrew next(bench.world, 1, crew.now());
    const auto ending = bench.conduct(run, next);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::finished);
    CHECK(ending->errors.empty());
    const auto failures = bench.store->failures(run.id, 100);
    REQUIRE(failures.ok());
    REQUIRE(failures->size() == 2);
    for (const Failure& failure : *failures) {
        CHECK(failure.name == "sealed");
        CHECK(failure.error.fault == Fault::file);
        CHECK(failure.error.side == Side::local);
        CHECK(failure.error.message == "permission denied; ask its owner (/data/sealed)");
    }
    CHECK((*failures)[0].site + (*failures)[1].site == 1);
    CHECK(bench.store->sites(run.id)->front().failed == 1);
    const auto left = bench.store->left_over(run.id);
    REQUIRE(left.ok());
    REQUIRE(left->size() == 1);
    CHECK(left->front().name == "sealed");
    bench.check_identical();
}

// Its sources are at a server too.
struct RelayBench : JobBench {
    explicit RelayBench(std::size_t sites, const std::string& more = {}) : JobBench(sites, more) {
        job.source.emplace().host = "source";
        job.relay = true;
    }
    // How many sites were served by the source and by sites, over all loads.
    std::map<std::optional<std::uint32_t>, std::set<std::size_t>> servers() const {
        std::map<std::optional<std::uint32_t>, std::set<std::size_t>> all;
        for (const auto& [site, from] : world.served) all[from].insert(site);
        return all;
    }
};

TEST_CASE("a destination that is done serves the next, one at a time") {
    RelayBench bench(4, "batch_files: 20\n");
    bench.fill(100, 100'000);
    bench.world.bytes_per_ms = 1000;
    VirtualCrew crew(bench.world, 4, kMonday);
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->errors.empty());
    bench.check_identical();
    const auto servers = bench.servers();
    CHECK(servers.at(std::nullopt).size() == 2);  // the first, and one beside the relay's
    std::size_t relayed = 0;
    for (const auto& [server, sites] : servers) relayed += server ? sites.size() : 0;
    CHECK(relayed == 2);
}

TEST_CASE(
    "a destination that lacks something serves nobody, and one that is down holds up nobody") {
    RelayBench bench(3, "retries: 1\nback_off: 1s\npatience: 10min\n");
    bench.fill(30, 1000);
    bench.world.refused.insert({0, "f7"});
    bench.world.down = [](std::size_t site, WallTime) { return site == 1; };
    VirtualCrew crew(bench.world, 3, kMonday);
    WallTime third_done = kNoTime;
    crew.at_wait = [&](WallTime at) {
        if (third_done == kNoTime && bench.world.sites[2].size() == 30) third_done = at;
    };
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->unreached.size() == 1);
    CHECK(bench.world.sites[0].size() == 29);
    CHECK(third_done < kMonday + minutes(1));
    CHECK(crew.now() < kMonday + minutes(15));  // its patience ends
    CHECK_FALSE(bench.servers().contains(0));
}

TEST_CASE("who serves a destination that is given up serves the next") {
    RelayBench bench(3, "patience: 0s\n");
    bench.fill(30, 1000);
    bench.world.down = [](std::size_t site, WallTime) { return site == 0; };
    VirtualCrew crew(bench.world, 3, kMonday);
    crew.interrupted_at = kMonday + hours(1);
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::finished);
    CHECK(ending->unreached.size() == 1);
    CHECK(bench.world.sites[1].size() == 30);
    CHECK(bench.world.sites[2].size() == 30);
}

TEST_CASE("a destination that was given up is hoped for by the next process, though work was cut") {
    JobBench bench(1, "batch_files: 5\n");
    bench.fill(10, 1000);
    const Run run = bench.begin(kMonday);
    const auto lead = good(bench.store->lead({.owner = "killed", .ticket = 1, .run = run.id}));
    good(bench.store->give_up(run.id, 0, "killed", "no network"));
    REQUIRE(lead != 0);
    VirtualCrew crew(bench.world, 1, kMonday);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->unreached.empty());
    bench.check_identical();
}

TEST_CASE("what another destination refuses to serve is served by the source") {
    RelayBench bench(2);
    bench.fill(10, 1000);
    bench.world.mute.insert(0);
    VirtualCrew crew(bench.world, 1, kMonday);
    const auto ending = bench.conduct(bench.begin(kMonday), crew);
    REQUIRE(ending.ok());
    CHECK(ending->errors.empty());
    CHECK(ending->unreached.empty());
    bench.check_identical();
    CHECK(bench.servers().contains(0));
}

TEST_CASE("what a destination serves that is not the source's is moved from the source") {
    RelayBench bench(2, "retries: 1\nback_off: 1s\n");
    bench.fill(10, 1000);
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.at_wait = [&](WallTime) {
        if (bench.world.sites[0].size() == 10) bench.world.sites[0]["f3"].mtime_ns = 77;
    };
    const Run run = bench.begin(kMonday);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->errors.empty());
    CHECK(bench.store->failures(run.id, 10)->empty());
    REQUIRE(bench.servers().contains(0));
    CHECK(bench.world.sites[1].at("f3").mtime_ns == 42);
    CHECK(bench.world.moved.at({1, "f3"}) == 2);
    CHECK(bench.world.moved.at({1, "f4"}) == 1);
}

TEST_CASE("what is refused is tried again with back-off, and then left over with its reason") {
    JobBench bench(2, "retries: 3\nback_off: 10s\nlongest_back_off: 15s\n");
    bench.fill(20, 1000);
    for (int i = 0; i < 5; ++i) bench.world.refused.insert({1, "f" + std::to_string(i)});
    VirtualCrew crew(bench.world, 2, kMonday);
    const Run run = bench.begin(kMonday);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->errors.empty());
    CHECK(bench.world.sites[0].size() == 20);
    CHECK(bench.world.sites[1].size() == 15);
    const auto failures = bench.store->failures(run.id, 100);
    REQUIRE(failures.ok());
    REQUIRE(failures->size() == 5);
    CHECK((*failures)[0].attempts == 4);
    CHECK((*failures)[0].error.message == "no leave");
    CHECK((*failures)[0].site == 1);
    CHECK(crew.now() >= kMonday + seconds(40));  // 10 + 15 + 15
    CHECK(crew.now() < kMonday + seconds(50));
}

TEST_CASE("data moves within the windows alone, and what is cut by their end goes on") {
    JobBench bench(1, "windows: [mon 00:01-00:02, mon 00:05-00:06]\nbatch_files: 50\n");
    bench.fill(1000, 80'000);  // 80 MB at 1 MB/s: 80 s
    bench.world.bytes_per_ms = 1000;
    VirtualCrew crew(bench.world, 1, kMonday);
    REQUIRE(bench.conduct(bench.begin(kMonday), crew).ok());
    bench.check_identical();
    for (const auto& [at, rate] : bench.world.carried) {
        const auto minute = (at - kMonday) / minutes(1);
        CHECK((minute == 1 || minute == 5));
    }
    CHECK(crew.now() > kMonday + minutes(5));
    CHECK(crew.now() < kMonday + minutes(6));
}

TEST_CASE("the timetable's rates are kept, and what runs changes with them") {
    JobBench bench(1, "rates: '00:01-24:00 80Mbit/s'\nrate_limit: 400Mbit/s\n");
    bench.world.add("big", 3'000'000'000);  // 1 min at 400 Mbit/s
    bench.world.add("other", 1);
    VirtualCrew crew(bench.world, 1, kMonday + seconds(30));
    REQUIRE(bench.conduct(bench.begin(kMonday), crew).ok());
    REQUIRE(bench.world.carried.size() >= 2);
    CHECK(bench.world.sites[0].size() == 2);
    for (const auto& [at, rate] : bench.world.carried) {
        const bool night = at < kMonday + minutes(1);
        CHECK(rate.bits_per_second == (night ? 400e6 : 80e6));
    }
    CHECK(bench.world.carried.back().first >= kMonday + minutes(1));
}

TEST_CASE("a listing that takes longer than a rate is kept comes to its end") {
    JobBench bench(1, "rates: '00:01-00:02 80Mbit/s, 00:03-00:04 40Mbit/s'\n");
    bench.world.add("a", 1);
    bench.world.session = minutes(5);
    VirtualCrew crew(bench.world, 1, kMonday);
    REQUIRE(bench.conduct(bench.begin(kMonday), crew).ok());
    bench.check_identical();
    REQUIRE_FALSE(bench.world.carried.empty());
    CHECK(bench.world.carried[0].first < kMonday + minutes(11));  // the source's list, the site's
    CHECK(bench.world.carried[0].second.bits_per_second == 0);
}

TEST_CASE("pause, resume and cancel are heard from elsewhere") {
    JobBench bench(1, "batch_files: 1\n");
    bench.fill(50, 1'000'000);
    bench.world.bytes_per_ms = 1000;
    VirtualCrew crew(bench.world, 1, kMonday);
    std::size_t paused_with = 0;
    bool resumed = false;
    bool cancelled = false;
    crew.at_wait = [&](WallTime at) {
        if (at >= kMonday + seconds(10) && paused_with == 0) {
            paused_with = bench.world.carried.size();
            REQUIRE(bench.store->set_request(Request::pause).ok());
        }
        if (at >= kMonday + minutes(3) && !resumed) {
            CHECK(bench.world.carried.size() <= paused_with + 1);
            resumed = true;
            REQUIRE(bench.store->set_request(Request::none).ok());
        }
        if (at >= kMonday + minutes(3) + seconds(20) && !std::exchange(cancelled, true))
            REQUIRE(bench.store->set_request(Request::cancel).ok());
    };
    const Run run = bench.begin(kMonday);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::cancelled);
    CHECK(resumed);
    CHECK(bench.world.carried.size() > paused_with + 5);
    CHECK(bench.world.sites[0].size() < 50);
    CHECK(*bench.store->end_run(run.id, RunState::cancelled, "process"));
    CHECK(bench.store->view(run.id)->request == Request::none);
}

TEST_CASE("an interruption ends the process, not the run") {
    JobBench bench(1, "batch_files: 5\n");
    bench.fill(50, 1'000'000);
    bench.world.bytes_per_ms = 1000;
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    crew.interrupted_at = kMonday + seconds(12);
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(ending->how == Ending::How::interrupted);
    CHECK(crew.now() < kMonday + seconds(14));
    VirtualCrew next(bench.world, 1, crew.now());
    REQUIRE(bench.conduct(run, next).ok());
    bench.check_identical();
}

TEST_CASE("what a lost lease was for is stopped and dropped, and the run goes on") {
    JobBench bench(1, "batch_files: 10\n");
    bench.fill(40, 1'000'000);
    bench.world.bytes_per_ms = 1000;  // 10 s for a load
    const Run run = bench.begin(kMonday);
    VirtualCrew crew(bench.world, 1, kMonday);
    std::size_t taken = 0;
    crew.at_wait = [&](WallTime at) {
        if (at < kMonday + seconds(5) || taken > 0) return;
        taken = *bench.store->take_over(run.id, "another");
    };
    const auto ending = bench.conduct(run, crew);
    REQUIRE(ending.ok());
    CHECK(taken == 1);
    CHECK(ending->how == Ending::How::finished);
    bench.check_identical();
    CHECK(crew.now() < kMonday + seconds(60));
    CHECK(std::any_of(bench.said.begin(), bench.said.end(), [](const std::string& text) {
        return text.find("a lease was lost") != text.npos;
    }));
    const auto tallies = bench.store->tallies(run.id);
    REQUIRE(tallies.ok());
    REQUIRE(tallies->size() == 1);
    CHECK((*tallies)[0].lost == 1);
    CHECK((*tallies)[0].leases == 5);
}

TEST_CASE("a server that refuses the settings ends the run at once") {
    // Told by the carrier as usage: no file is to blame, and no later try would do.
    struct Refusing final : Crew {
        VirtualCrew& inner;
        explicit Refusing(VirtualCrew& crew) : inner(crew) {}
        WallTime now() const override { return inner.now(); }
        LocalTime local() const override { return inner.local(); }
        bool interrupted() const override { return false; }
        std::size_t idle() const override { return inner.idle(); }
        std::size_t busy() const override { return inner.busy(); }
        void start(Work work) override { inner.start(std::move(work)); }
        void stop() override { inner.stop(); }
        void stop(Work::Kind kind) override { inner.stop(kind); }
        void stop(std::int64_t lease) override { inner.stop(lease); }
        std::vector<Done> take() override {
            auto all = inner.take();
            for (Done& done : all) {
                if (done.work.kind == Work::Kind::carry)
                    done.result = Result<mover::Outcome>(Error{.fault = Fault::usage,
                                                               .message = "504",
                                                               .path = {},
                                                               .side = Side::remote,
                                                               .remedy = {}});
            }
            return all;
        }
        std::string doing() const override { return {}; }
        void wait(WallTime until) override { inner.wait(until); }
    };
    JobBench bench(1);
    bench.fill(5, 10);
    VirtualCrew inner(bench.world, 1, kMonday);
    Refusing crew(inner);
    Conductor conductor(bench.job, *bench.store, crew, "one", [](const std::string&) {});
    const auto ending = conductor.conduct(bench.begin(kMonday));
    REQUIRE_FALSE(ending.ok());
    CHECK(ending.error().fault == Fault::usage);
}

}  // namespace
}  // namespace lambda::client::replicate
