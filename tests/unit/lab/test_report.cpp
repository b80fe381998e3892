#include "tools/lab/report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tools/lab/path_flags.h"

using namespace lambda;
using namespace lambda::lab;
using std::chrono::milliseconds;

namespace {

constexpr std::uint8_t kUdp = 17;

Flow flow(std::uint16_t port, std::uint8_t protocol = kUdp) {
    Address from, to;
    from.ip.fill(std::byte{1});
    to.ip.fill(std::byte{2});
    from.port = port;
    to.port = 7;
    return {from, to, protocol};
}

// Readings, 0.1 s apart, of flows that have passed `bytes[i](seconds)` of each direction's flow i
// by then; flow 0 are the others.
using Passed = std::vector<std::function<double(double)>>;
Outcome outcome_of(int readings, const Passed& forward, const Passed& backward = {}) {
    Outcome outcome;
    const auto pass = [](LinkCounters& link, const Passed& passed, double seconds) {
        for (const auto& bytes : passed) {
            link.flow_bytes.push_back(static_cast<std::uint64_t>(bytes(seconds)));
            link.passed_bytes += link.flow_bytes.back();
        }
    };
    for (int i = 1; i <= readings; ++i) {
        Reading& reading = outcome.readings.emplace_back();
        reading.seconds = i * 0.1;
        pass(reading.forward, forward, reading.seconds);
        pass(reading.backward, backward, reading.seconds);
    }
    for (std::uint16_t i = 1; i < forward.size(); ++i) outcome.forward_flows.push_back(flow(i));
    for (std::uint16_t i = 1; i < backward.size(); ++i)
        outcome.backward_flows.push_back(flow(i).answer());
    return outcome;
}

double none(double) {
    return 0;
}
std::function<double(double)> at(double mbit) {
    return [mbit](double seconds) { return mbit * 1e6 / 8 * seconds + 0.5; };
}

report::Chart chart_of(const Outcome& outcome, const std::string& title,
                       const PathSpec& path = plain_path()) {
    const report::Page page = page_of(outcome, path, "");
    for (const report::Chart& chart : page.sections.at(0).charts)
        if (chart.title == title) return chart;
    FAIL("no chart " << title);
    return {};
}

std::vector<std::string> names(const report::Chart& chart) {
    std::vector<std::string> list;
    for (const report::Line& line : chart.lines) list.push_back(line.name);
    return list;
}

const std::string kRates = "Rate of each flow", kFairness = "Fairness of the rates over 1 s",
                  kRoundTrip = "Round trip of the path";

}  // namespace

TEST_CASE("each flow that carries data has a line with its rate") {
    Outcome outcome = outcome_of(20, {none, at(100), at(1.5), at(0.5)}, {none, at(5), at(1.4)});
    outcome.backward_flows[1] = flow(9).answer();
    const report::Chart rates = chart_of(outcome, kRates);
    // The third has less than 1 %, the first of the other direction answers the first.
    CHECK(names(rates) ==
          std::vector{flow_name(flow(1)), flow_name(flow(2)), flow_name(flow(9).answer())});
    REQUIRE(rates.seconds.size() == 20);
    for (const double rate : rates.lines.at(0).values) CHECK(rate == Approx(100).epsilon(0.001));
    for (const double rate : rates.lines.at(1).values) CHECK(rate == Approx(1.5).epsilon(0.001));

    const auto table = page_of(outcome, plain_path(), "").sections.at(0).tables.at(1);
    REQUIRE(table.rows.size() == 5);
    CHECK(table.rows[0] == std::vector<std::string>{flow_name(flow(1)), "100.000", "98.04"});
    CHECK(table.rows[1][0] == flow_name(flow(1).answer()));
}

TEST_CASE("flows beyond the table are a line together, and none among the fair") {
    const Outcome outcome = outcome_of(20, {at(10), at(10), at(10)});
    CHECK(names(chart_of(outcome, kRates)) ==
          std::vector<std::string>{flow_name(flow(1)), flow_name(flow(2)), "all others, forward"});
    CHECK(chart_of(outcome, kFairness).lines.at(0).values.back() == Approx(1));
}

TEST_CASE("the fairness is of flows that have begun and not ended, over a second") {
    // The second has a third of the first's rate, from 1 s to 3 s, and is held up for a while.
    const auto second = [](double seconds) {
        const double moved = std::clamp(seconds - 1, 0.0, 0.5) + std::clamp(seconds - 2, 0.0, 1.0);
        return moved * 1e6;
    };
    const Outcome outcome = outcome_of(40, {none, at(24), second});
    const report::Chart chart = chart_of(outcome, kFairness);
    CHECK(chart.top == 1);
    REQUIRE(names(chart) == std::vector<std::string>{"forward", "backward"});
    const std::vector<double>& forward = chart.lines[0].values;
    for (const double index : chart.lines[1].values) CHECK(std::isnan(index));
    REQUIRE(forward.size() == 40);
    for (std::size_t i = 0; i < forward.size(); ++i) {
        CAPTURE(i);
        // Its first byte is known at 1.1 s, the last moved before 3 s.
        CHECK(std::isfinite(forward[i]) == (i >= 20 && i <= 29));
    }
    // 3 and 0.5 MB; then 3 and 1 MB.
    CHECK(forward[24] == Approx(3.5 * 3.5 / 2 / 9.25).epsilon(0.001));
    CHECK(forward[29] == Approx(0.8).epsilon(0.001));
}

TEST_CASE("a single flow is neither fair nor unfair") {
    for (const report::Line& line : chart_of(outcome_of(20, {none, at(10)}), kFairness).lines)
        for (const double index : line.values) CHECK(std::isnan(index));
}

TEST_CASE("the round trip is the delays and the wait in both queues") {
    PathSpec path = plain_path();
    path.hosts[0].delay = milliseconds(1);
    path.hosts[1].delay = milliseconds(4);
    Outcome outcome = outcome_of(2, {});
    for (Reading& reading : outcome.readings) {
        reading.forward.delay = milliseconds(2);
        reading.backward.delay = milliseconds(7);
        reading.forward.queue.mean_ms = 3;
    }
    // Since the begin: 20 ms in the second tenth alone; and a change of the path in it.
    outcome.readings[1].backward.queue.mean_ms = 10;
    outcome.readings[1].forward.delay = milliseconds(52);
    const report::Chart alone = chart_of(outcome, kRoundTrip, path);
    REQUIRE(names(alone) == std::vector<std::string>{"client to server"});
    CHECK(alone.lines[0].values.at(0) == Approx(2 + 7 + 2 * 5 + 3));
    CHECK(alone.lines[0].values.at(1) == Approx(52 + 7 + 2 * 5 + 3 + 20));

    path.hosts.push_back(path.hosts[0]);
    path.hosts[2].name = "far";
    path.hosts[2].delay = milliseconds(50);
    const report::Chart both = chart_of(outcome, kRoundTrip, path);
    REQUIRE(names(both) == std::vector<std::string>{"client to server", "far to server"});
    CHECK(both.lines[0].values == alone.lines[0].values);
    CHECK(both.lines[1].values.at(0) == Approx(2 + 7 + 2 * 54 + 3));
}

TEST_CASE("the page of a run without a reading") {
    const report::Page page = page_of(outcome_of(0, {}), plain_path(), "");
    CHECK(page.sections.at(0).charts.size() == 9);
    CHECK(report::html(page).size() > 1000);
}
