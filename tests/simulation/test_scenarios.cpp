// Named scenarios: what their files may say, how an expectation is judged. That they hold, the
// tests scenario_* run them for.
#include <cmath>
#include <filesystem>

#include "tests/support/catch.h"
#include "tools/sim/flags.h"
#include "tools/sim/named.h"
#include "tools/sim/path.h"
#include "tools/sim/report.h"
#include "tools/sim/scenario.h"
#include "tools/sim/statistics.h"
#include "tools/sim/world.h"

using namespace lambda;
using namespace lambda::simulation;

namespace {

const std::string kHead = "title: a\nsource: b\n";
const std::string kFlow = "flow: [\"law=reno,rtt=10ms\"]\n";
const std::string kExpect = "expect: [jain >= 0.9]\n";

std::string complaint(const std::string& text) {
    const auto scenario = parse_named(text, "x.yaml");
    return scenario ? "" : scenario.error().sentence();
}

FlowsResult two_flows(double first, double second) {
    FlowsResult result;
    result.flows.resize(2);
    result.flows[0].law = "sabul";
    result.flows[0].mean_mbit = first;
    result.flows[1].law = "reno";
    result.flows[1].mean_mbit = second;
    result.sum_mbit = first + second;
    return result;
}

Finding only(const std::string& text, const std::vector<RunResult>& runs) {
    std::vector<std::string> names;
    for (const RunResult& run : runs) names.push_back(run.name);
    const auto expectation = parse_expectation(text, names);
    INFO(text);
    REQUIRE(expectation.ok());
    const auto findings = judge(*expectation, runs);
    REQUIRE(findings.size() == 1);
    return findings[0];
}

}  // namespace

TEST_CASE("A named scenario says where it is wrong") {
    REQUIRE(complaint(kHead + kFlow + kExpect).empty());
    struct Case {
        std::string text, said;
    };
    const auto bad = GENERATE_COPY(values<Case>({
        {"", "x.yaml:1: the file is empty"},
        {kFlow + kExpect, "x.yaml:2: title: is missing"},
        {kHead + kFlow, "x.yaml:3: expect: is missing"},
        {kHead + kExpect, "--flow: there is none"},
        {kHead + kFlow + kExpect + "speed: 3\n", "x.yaml:5: speed: \"speed\" is no flag"},
        {kHead + kFlow + kExpect + "seed: 3\n", "x.yaml:5: seed: \"seed\" is no flag"},
        {kHead + kFlow + kExpect + "loss: lots\n", "x.yaml:5: loss: \"lots\" is no number"},
        {kHead + kFlow + kExpect + "loss: 1\n", "x.yaml:5: --loss: the value is out of range"},
        {kHead + kFlow + kExpect + "loss: nan\n", "x.yaml:5: loss: \"nan\" is no number"},
        {kHead + kFlow + kExpect + "loss: [0.1]\n", "x.yaml:5: loss: is no flag that takes a list"},
        {kHead + "flow: law=reno\n" + kExpect, "x.yaml:3: flow: takes a list"},
        {kHead + kFlow + kExpect + "title: c\n", "x.yaml:5: title: stands twice"},
        {kHead + kFlow + kExpect + "queue: 0BDP\n", "x.yaml:5: --queue: 0BDP is no number of BDP"},
        {kHead + kFlow + kExpect + "queue:\n", "x.yaml:5: queue: has no value"},
        {kHead + "flow: [law=none]\n" + kExpect, "--flow: congestion law 'none' is not known"},
        {kHead + "flow: [\"law=mimd:alpah=3\"]\n" + kExpect, "alpha"},
        {kHead + kFlow + kExpect + "at: [\"1s,colour=red\"]\n", "--at: \"colour=red\""},
        {kHead + kFlow + kExpect + "runs: [\"a loss\"]\n", "\"loss\" is no KEY=VALUE"},
        {kHead + kFlow + kExpect + "runs: [\"a loss=1e-3 loss=1e-4\"]\n", "\"loss\" stands twice"},
        {kHead + kFlow + kExpect + "runs: [\"loss=1e-3\"]\n", "does not begin with a name"},
        {kHead + kFlow + kExpect + "runs: [a, a]\n", "x.yaml:5: a: two runs have this name"},
        {kHead + kFlow + "expect: [speed >= 1]\n", "x.yaml:4: expect: \"speed\" is no metric"},
        {kHead + kFlow + "expect: [b:jain >= 1]\n", "\"b:jain\" names a run that there is not"},
        {kHead + kFlow + "expect: [jain == 1]\n", "\"==\" is not in, >= or <="},
        {kHead + kFlow + "expect: [jain in 2..1]\n", "a low bound above its high one"},
        {kHead + kFlow + "expect: [jain in 2]\n", "\"2\" is no LOW..HIGH"},
        {kHead + kFlow + "expect: [\"flows[x].cov >= 1\"]\n", "\"flows[x].cov\" has neither"},
        {kHead + kFlow + "expect: [max.speed >= 1]\n", "\"max.speed\" is no metric of a flow"},
        {kHead + kFlow + "expect: [jain jain >= 1]\n", "is no expectation"},
        {kHead + kFlow + "expect: [rank jain >= 1]\n", "ranks fewer than two runs"},
        {kHead + kFlow + "runs: [a, b]\nexpect: [rank jain a=b >= 1]\n",
         "ranks fewer than two runs"},
        {kHead + kFlow + "expect: [\"b*:jain >= 1\"]\n", "names a run that there is not"},
        {kHead + kFlow + "expect: [mean >= 1]\n", "is no expectation"},
        {kHead + kFlow + "expect: [mean mean jain >= 1]\n", "is no expectation"},
        {kHead + kFlow + "expect: [jain >= 1 where]\n", "is not in, >= or <="},
        {kHead + kFlow + "expect: [jain >= 1 where speed >= 1]\n", "\"speed\" is no metric"},
        {kHead + kFlow + kExpect + "seeds: 0\n", "x.yaml:5: seeds: is no number from 1 to 100"},
        {kHead + kFlow + kExpect + "seeds: 2.5\n", "x.yaml:5: seeds: is no number from 1 to 100"},
        {kHead + kFlow + kExpect + "from: 60s\n", "x.yaml:5: --from: leaves nothing to measure"},
        {kHead + "flow: [\"law=reno,rtt=1ms..x\"]\n" + kExpect, "--flow: 'x' is not a duration"},
        {kHead + "flow: [\"law=reno,syn=0ms\"]\n" + kExpect, "a syn from 1ms to 1s is allowed"},
        {kHead + "flow: [\"law=reno,access=0\"]\n" + kExpect, "access has a rate above 0"},
        {kHead + kFlow + kExpect + "pauses: 10us\n", "--pauses: is no EVERY,LONGEST"},
        {kHead + kFlow + kExpect + "pauses: \"1ns,1ns\"\n", "--pauses: EVERY is less than 1ms"},
        {kHead + kFlow + "runs: [a, b]\nexpect: [jain >= 0 where a:jain / jain >= 0]\n",
         "has a condition that is not of each run"},
        {kHead + kFlow + "runs: [a, b]\nexpect: [rank jain a* b >= 0]\n",
         "takes several runs as one"},
        {kHead + kFlow + "runs: [a-1, a-2, b-1]\nexpect: [\"a-*:jain / b-*:jain >= 0\"]\n",
         "\"b-2\" names a run that there is not"},
        {kHead + kFlow + "runs: [a, b]\nexpect: [deviation a <= 0]\n",
         "does not set one run against another"},
        {kHead + kFlow + "runs: [a, b]\nexpect: [deviation a c <= 0]\n",
         "names a run that there is not"},
        {kHead + kFlow + "runs: [a, b]\nexpect: [jain >= 0 where deviation a b <= 0]\n",
         "has a condition that is not of each run"},
        {kHead + kFlow + kExpect + "capacity: 0\n", "x.yaml:5: --capacity: is nothing"},
        {kHead + kFlow + kExpect + "at: [\"1s,capacity=0\"]\n", "a capacity is above 0"},
        {kHead + kFlow + kExpect + "at: [\"60s,loss=0\"]\n", "--at: is after the end"},
        {kHead + kFlow + kExpect + "burst: 2\nloss: 0.7\n",
         "--loss: is more than bursts of this length can have"},
        {kHead + kFlow + kExpect + "burst: 2\nat: [\"1s,loss=0.7\"]\n",
         "--loss: is more than bursts of this length can have"},
    }));
    CAPTURE(bad.text);
    CHECK_THAT(complaint(bad.text), Catch::Contains(bad.said));
}

TEST_CASE("A run has what is common, and its own flags") {
    const auto scenario = parse_named(
        kHead + kFlow + kExpect +
            "loss: 0.5\nruns: [plain, \"own loss=1e-3 flow=law=sabul,count=2 flow=law=stcp\"]\n",
        "x.yaml");
    REQUIRE(scenario.ok());
    REQUIRE(scenario->runs.size() == 2);
    CHECK(scenario->runs[0].scenario.loss == 0.5);
    CHECK(scenario->runs[0].scenario.flows.size() == 1);
    CHECK(scenario->runs[1].scenario.loss == 1e-3);
    REQUIRE(scenario->runs[1].scenario.flows.size() == 3);
    CHECK(scenario->runs[1].scenario.flows[2].law == "stcp");
}

TEST_CASE("Flags that would count for nothing are refused") {
    const auto error = [](Flags flags) {
        if (flags.flows.empty()) flags.flows = {"rtt=1ms"};
        const auto scenario = scenario_of(flags);
        return scenario ? std::string("accepted") : scenario.error().message;
    };
    Flags burst;
    burst.burst = 3;
    CHECK_THAT(error(burst), Catch::StartsWith("--burst: "));
    burst.changes = {"1s,loss=1e-3"};
    CHECK(error(burst) == "accepted");
    Flags nothing;
    nothing.duration = "0s";
    CHECK_THAT(error(nothing), Catch::StartsWith("--duration: "));
    Flags empty;
    empty.flows = {""};
    CHECK_THAT(error(empty), Catch::StartsWith("--flow: "));
}

TEST_CASE("A run is told by the path as it was while it was measured") {
    Flags flags;
    flags.capacity = "10Mbit/s";
    flags.duration = "6s";
    flags.flows = {"law=fixed,rtt=10ms,initial=9Mbit/s"};
    // In any order: 10, 20 from 4 s on, 10 again from 5 s.
    flags.changes = {"5s,capacity=10Mbit/s", "4s,capacity=20Mbit/s"};
    const auto scenario = scenario_of(flags);
    REQUIRE(scenario.ok());
    const FlowsResult result = run_flows(*scenario);
    CHECK(result.utilisation ==
          Approx(result.sum_mbit / (payload_mbit(BitRate{10e6}) * 4 / 3)).epsilon(1e-6));
    CHECK(result.settled_ms == -1);  // a fixed rate follows no change
}

TEST_CASE("A page tells from where on a run was measured, a bound of bins") {
    FlowsScenario scenario;
    scenario.duration = std::chrono::milliseconds(1500);
    scenario.flows = {FlowSettings{}};
    const FlowsResult result = run_flows(scenario);
    const auto told = [&] {
        return section_of("", scenario, result).tables.front().rows.front().at(5);
    };
    CHECK(told() == "0.7");
    scenario.from = std::chrono::milliseconds(410);
    CHECK(told() == "0.4");
}

TEST_CASE("Losses of the path come each by itself, however many") {
    World world(7);
    Path path;
    path.loss = 0.8;
    int lost = 0, again = 0;
    bool before = false;
    for (int i = 0; i < 10'000; ++i) {
        const bool loses = path.loses(world);
        lost += loses;
        again += loses && before;
        before = loses;
    }
    CHECK(lost > 7'800);
    CHECK(lost < 8'200);
    CHECK(again > 6'100);
    CHECK(again < 6'700);
}

TEST_CASE("An expectation holds within its bounds and fails outside") {
    const std::vector<RunResult> runs{{"", two_flows(300, 100)}};
    CHECK(only("sum_mbit in 400..401", runs).holds());
    CHECK_FALSE(only("sum_mbit in 401..500", runs).holds());
    CHECK(only("flows[1].mean_mbit <= 100", runs).holds());
    CHECK_FALSE(only("flows[1].mean_mbit >= 101", runs).holds());
    CHECK(only("sabul.mean_mbit / reno.mean_mbit in 3..3", runs).holds());
    CHECK(only("min.mean_mbit >= 100", runs).figure == 100);
    CHECK(only("max.mean_mbit >= 100", runs).figure == 300);
    CHECK_FALSE(only("flows[2].mean_mbit >= 0", runs).holds());
    CHECK_FALSE(only("stcp.mean_mbit <= 1e9", runs).holds());
}

TEST_CASE("An expectation without a run is asked of each") {
    const std::vector<RunResult> runs{{"a", two_flows(300, 100)}, {"b", two_flows(50, 20)}};
    const auto each = parse_expectation("sum_mbit >= 100", {"a", "b"});
    REQUIRE(each.ok());
    const auto findings = judge(*each, runs);
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].holds());
    CHECK_FALSE(findings[1].holds());
    CHECK(only("a:sum_mbit / b:sum_mbit >= 5.7", runs).holds());
}

TEST_CASE("An expectation may be asked of some runs only") {
    std::vector<RunResult> runs{
        {"a-1", two_flows(300, 100)}, {"a-2", two_flows(50, 20)}, {"b", two_flows(1, 1)}};
    runs[1].result.flows[0].cov = 0.2;
    const auto asked = [&runs](const std::string& text) {
        const auto expectation = parse_expectation(text, {"a-1", "a-2", "b"});
        REQUIRE(expectation.ok());
        return judge(*expectation, runs);
    };
    const auto begins = asked("a-*:sum_mbit >= 100");
    REQUIRE(begins.size() == 2);
    CHECK(begins[0].run == "a-1");
    CHECK(begins[0].holds());
    CHECK_FALSE(begins[1].holds());
    CHECK(&worst(begins) == &begins[1]);
    const auto where = asked("sum_mbit >= 1000 where max.cov >= 0.1");
    REQUIRE(where.size() == 3);
    CHECK(where[0].holds());
    CHECK_FALSE(where[1].holds());
    CHECK(where[2].holds());
    const auto mean = asked("mean a-*:sum_mbit in 234..236");
    REQUIRE(mean.size() == 1);
    CHECK(mean[0].figure == 235);
    CHECK(mean[0].holds());
    const auto unknown = asked("stcp.mean_mbit >= 0");
    CHECK_FALSE(worst(unknown).holds());
}

TEST_CASE("Runs may be set against those whose names end alike") {
    const std::vector<std::string> names{"a-1", "a-2", "b-1", "b-2"};
    const std::vector<RunResult> runs{{"a-1", two_flows(3, 0)},
                                      {"a-2", two_flows(5, 0)},
                                      {"b-1", two_flows(6, 0)},
                                      {"b-2", two_flows(2, 0)}};
    const auto ratio = parse_expectation("a-*:sum_mbit / b-*:sum_mbit <= 1", names);
    REQUIRE(ratio.ok());
    const auto findings = judge(*ratio, runs);
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].figure == 0.5);
    CHECK(findings[0].holds());
    CHECK(findings[1].figure == 2.5);
    CHECK_FALSE(findings[1].holds());
    // The condition is of the run that is asked.
    const auto where =
        parse_expectation("a-*:sum_mbit / b-*:sum_mbit <= 1 where sum_mbit <= 4", names);
    REQUIRE(where.ok());
    CHECK(judge(*where, runs)[0].holds());
    CHECK(judge(*where, runs)[1].holds());
}

TEST_CASE("A run is off another by what each second of the senders differs") {
    const auto sends = [](std::vector<float> mbit) {
        FlowsResult result = two_flows(0, 0);
        result.queue_ms.resize(mbit.size());
        result.flows[0].sent_mbit.assign(mbit.size(), 50);
        result.flows[1].sent_mbit = std::move(mbit);
        result.first_bin = 10;
        return result;
    };
    // The first second is not measured, the second alike in the mean, the third off by a third.
    std::vector<float> even(30, 100), late(30, 100);
    std::fill_n(late.begin(), 10, 0.f);
    late[10] += 50;
    late[11] -= 50;
    std::fill(late.begin() + 20, late.end(), 50.f);
    const std::vector<RunResult> runs{{"even", sends(even)}, {"late", sends(late)}};
    CHECK(only("deviation late even <= 0.17", runs).figure == Approx(50.0 / 300));
    CHECK_FALSE(only("deviation late even <= 0.16", runs).holds());
    CHECK(only("deviation even even <= 0", runs).holds());
    const std::vector<RunResult> nothing{{"a", two_flows(0, 0)}, {"b", two_flows(0, 0)}};
    CHECK_FALSE(only("deviation a b <= 1", nothing).holds());
}

namespace {

// 6 s of one flow over 20 Mbit/s, with a change after 3 s.
FlowsResult over_a_change(const std::string& flow, const std::string& change) {
    Flags flags;
    flags.capacity = "20Mbit/s";
    flags.duration = "6s";
    flags.flows = {flow};
    flags.changes = {"3s," + change};
    const auto scenario = scenario_of(flags);
    REQUIRE(scenario.ok());
    return run_flows(*scenario);
}

}  // namespace

TEST_CASE("What a sender sends too much is seen, though no more can arrive") {
    const FlowsResult result =
        over_a_change("law=fixed,rtt=10ms,initial=18.5Mbit/s", "capacity=10Mbit/s");
    CHECK(result.settled_ms >= 0);
    CHECK(result.sent_settled_ms == -1);
}

TEST_CASE("A round trip is followed from its change on") {
    const FlowsResult result = over_a_change("law=fixed,rtt=20ms,initial=10Mbit/s", "rtt=120ms");
    CHECK(result.flows.front().rtt_settled_ms > 120);
    CHECK(result.flows.front().rtt_settled_ms <= 8 * 120);
}

TEST_CASE("A rate has settled where no later second is off its level") {
    std::vector<float> rates(40, 100);
    std::fill_n(rates.begin(), 5, 50.f);
    CHECK(settles(rates, 10, 100, 0.1) == 3);  // two low bins of ten are 10 %
    CHECK(settles(rates, 10, 100, 0.6) == 0);
    rates[25] = 0;
    CHECK(settles(rates, 10, 100, 0.05) == 26);
    rates.back() = 0;
    CHECK(settles(rates, 10, 100, 0.05) == rates.size());
    CHECK(settles(rates, 50, 100, 0.5) == rates.size());
}

TEST_CASE("Flows may be spread over round trips") {
    const auto flows = parse_flow("law=reno,rtt=20ms..200ms,count=4");
    REQUIRE(flows.ok());
    REQUIRE(flows->size() == 4);
    CHECK((*flows)[0].rtt == std::chrono::milliseconds(20));
    CHECK((*flows)[1].rtt == std::chrono::milliseconds(80));
    CHECK((*flows)[3].rtt == std::chrono::milliseconds(200));
}

TEST_CASE("Rates are spread over the flows without a size alone") {
    FlowsScenario scenario;
    scenario.duration = std::chrono::seconds(2);
    for (const char* words :
         {"law=fixed,rtt=10ms,initial=100Mbit/s", "law=fixed,rtt=10ms,initial=300Mbit/s",
          "law=fixed,rtt=10ms,initial=50Mbit/s,size=1MB"}) {
        const auto flow = parse_flow(words);
        REQUIRE(flow.ok());
        scenario.flows.push_back(flow->front());
    }
    const FlowsResult result = run_flows(scenario);
    const double a = result.flows[0].mean_mbit, b = result.flows[1].mean_mbit;
    REQUIRE(b > 2 * a);
    CHECK(result.spread == Approx((b - a) / (b + a)).epsilon(1e-4));
}

TEST_CASE("A rank is Spearman's correlation with the order given") {
    const std::vector<RunResult> runs{
        {"a", two_flows(3, 0)}, {"b", two_flows(2, 0)}, {"c", two_flows(1, 0)}};
    CHECK(only("rank sum_mbit a b c >= 0", runs).figure == Approx(1));
    CHECK(only("rank sum_mbit c b a >= 0", runs).figure == Approx(-1));
    CHECK(only("rank sum_mbit b a c >= 0", runs).figure == Approx(0.5));
    CHECK(only("rank sum_mbit a b=c >= 0", runs).figure == Approx(std::sqrt(0.75)));
}

TEST_CASE("Every scenario that is shipped can be read") {
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(LAMBDA_SOURCE_DIR "/tools/sim/scenarios")) {
        const auto scenario = read_named(entry.path().string());
        INFO((scenario ? "" : scenario.error().sentence()));
        CHECK(scenario.ok());
        ++count;
    }
    CHECK(count >= 15);
}
