#include "tools/lab/series.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::lab;

namespace {

// After `seconds` of 1,000 bytes a second of flow 1 on a link of 4,000, with a queue of 500 bytes
// throughout.
LinkCounters counters_at(double seconds) {
    LinkCounters counters;
    counters.passed_bytes = static_cast<std::uint64_t>(seconds * 1000);
    counters.flow_bytes = {0, counters.passed_bytes};
    counters.queue.capacity_bytes = seconds * 4000;
    counters.queue.mean_bytes = 500;
    counters.lost = static_cast<std::uint64_t>(seconds * 10);
    return counters;
}

}  // namespace

TEST_CASE("A step is what happened between two readings") {
    Reading before{2, counters_at(2), {}}, now{6, counters_at(6), {}};
    now.forward.dropped = 7;
    // 500 bytes for 2 s, then 1,500 for 4 s.
    now.forward.queue.mean_bytes = (2 * 500 + 4 * 1500) / 6.0;
    before.forward.queue.mean_ms = 125;
    now.forward.queue.mean_ms = (2 * 125 + 4 * 375) / 6.0;
    const Step step = step_between(before, now, &Reading::forward);
    CHECK(step.mbit == Approx(0.008));
    CHECK(step.queue_mean_bytes == Approx(1500));
    CHECK(step.queue_mean_ms == Approx(375));
    CHECK(step.utilisation == Approx(0.25));
    CHECK(step.dropped == 7);
    CHECK(step.lost == 40);
    CHECK(step.dead == 0);
    const Step idle = step_between(before, now, &Reading::backward);
    CHECK(idle.mbit == 0);
    CHECK(idle.utilisation == 0);
}

TEST_CASE("Readings are wanted by a file or a report alone") {
    auto nobody = Series::make("", false);
    REQUIRE(nobody.ok());
    nobody->begin(Time{});
    CHECK(nobody->next() == kNever);
    auto report = Series::make("", true);
    REQUIRE(report.ok());
    report->begin(Time{});
    CHECK(report->next() == Time{} + Series::kStep);
}

TEST_CASE("The readings that are kept are bounded and lose nothing of the sums") {
    auto series = Series::make("", true);
    REQUIRE(series.ok());
    series->begin(Time{});
    const std::size_t readings = Series::kMostKept + Series::kMostKept / 2 + 1;
    for (std::size_t i = 1; i <= readings; ++i) {
        const Time now = Time{} + Series::kStep * static_cast<Duration::rep>(i);
        series->add(now, counters_at(seconds(now - Time{})), {});
    }
    const std::vector<Reading> kept = series->take_kept();
    CHECK(kept.size() == Series::kMostKept / 2 + 1);
    CHECK(kept.back().seconds == Approx(static_cast<double>(readings) * 0.1));
    Reading before;
    std::uint64_t lost = 0;
    for (const Reading& now : kept) {
        REQUIRE(now.seconds > before.seconds);
        REQUIRE(now.forward.flow_bytes == std::vector{std::uint64_t{0}, now.forward.passed_bytes});
        const Step step = step_between(before, now, &Reading::forward);
        CHECK(step.utilisation == Approx(0.25).margin(0.01));
        CHECK(step.queue_mean_bytes == Approx(500));
        lost += step.lost;
        before = now;
    }
    CHECK(lost == kept.back().forward.lost);
}

TEST_CASE("A row that could not be written is told at the end, whatever could be since") {
    const auto file = std::filesystem::temp_directory_path() /
                      ("lambda-series-" + std::to_string(::getpid()) + ".csv");
    auto series = Series::make(file, false);
    REQUIRE(series.ok());
    series->begin(Time{});
    Time now{};
    const auto add_rows = [&] {
        for (int i = 0; i < 1000; ++i) series->add(now += Series::kStep, {}, {});
    };
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit full{4096, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
    add_rows();
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, before);
    add_rows();
    const auto closed = series->close();
    std::filesystem::remove(file);
    REQUIRE_FALSE(closed.ok());
    CHECK(closed.error().message.find("File too large") != std::string::npos);
}
