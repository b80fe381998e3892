// Trials: what is varied, and what is made of what was measured.
#include <array>
#include <cmath>
#include <set>

#include "client/trial/advice.h"
#include "client/trial/against.h"
#include "client/trial/earlier.h"
#include "client/trial/measures.h"
#include "client/trial/page.h"
#include "client/trial/plan.h"
#include "client/trial/results.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;
using namespace std::chrono_literals;

namespace {

Result<std::vector<TrialCase>> cases(TrialOptions options) {
    return cases_of(options, config::ClientSettings{});
}

CaseResult result(double gbit) {
    TrialOptions options;
    options.legs = "put-memory-memory";
    CaseResult made{cases(options)->front(), {}};
    made.runs.push_back({.gbit_per_s = gbit, .rates = {}, .evidence = {}});
    return made;
}

}  // namespace

TEST_CASE("a list is cut at commas, and a law keeps its parameters") {
    CHECK(split_list("1,2,4") == std::vector<std::string>{"1", "2", "4"});
    CHECK(split_list("reno,mimd:preset=pr1,T=4s,cubic") ==
          std::vector<std::string>{"reno", "mimd:preset=pr1,T=4s", "cubic"});
    CHECK(split_list("mimd:preset=pr1,T=4s").size() == 1);
    CHECK(split_list("") == std::vector<std::string>{""});
}

TEST_CASE("a sweep is each leg with each combination") {
    TrialOptions options;
    options.legs = "memory-memory,read";
    options.sizes = "1MiB,2GiB";
    options.swept = {{"stripes", "1,2,4"}, {"congestion", "sabul,cubic"}};
    const auto all = cases(options);
    REQUIRE(all);
    CHECK(all->size() == 2 + 2 * 2 * 3 * 2);  // reading alone knows no stripes
    std::set<std::string> keys;
    for (const TrialCase& each : *all) keys.insert(each.key());
    CHECK(keys.size() == all->size());
    options.legs = "all";
    CHECK(cases(options)->size() == 2 + 8 * 2 * 3 * 2);
    options.sizes = "1MiB,1MiB";
    options.swept = {{"stripes", "4,4"}};
    CHECK(cases(options)->size() == 1 + 8);
}

TEST_CASE("what cannot be tried is refused") {
    for (const auto& [key, list] :
         std::initializer_list<std::pair<std::string, std::string>>{{"stripes", "1,0"},
                                                                    {"stripes", "1,many"},
                                                                    {"payload", "1,2"},
                                                                    {"protection", "safe,no"}}) {
        TrialOptions options;
        options.swept = {{key, list}};
        REQUIRE_FALSE(cases(options));
        CHECK(cases(options).error().fault == Fault::usage);
    }
    for (const char* wrong : {"", "0", "1MiB,", "much", "1KiB"}) {
        TrialOptions options;
        options.sizes = wrong;
        CHECK_FALSE(cases(options));
    }
    TrialOptions options;
    options.legs = "memory-memory,tape";
    CHECK_FALSE(cases(options));
    options = {};
    std::string many = "1";
    for (int i = 0; i < 5000; ++i) many += ",1";
    options.swept = {{"stripes", many}};
    CHECK_FALSE(cases(options));
}

TEST_CASE("a program beside, and its port") {
    const auto usual = parse_against("iperf3");
    REQUIRE(usual);
    CHECK((usual->program == Against::Program::iperf3 && usual->port == 5201));
    const auto other = parse_against("globus-url-copy:2812");
    REQUIRE(other);
    CHECK((other->program == Against::Program::globus_url_copy && other->port == 2812));
    for (const char* bad : {"", ":", "iperf", "iperf3:", "iperf3:0", "iperf3:65536", "iperf3:x"}) {
        INFO(bad);
        CHECK_FALSE(parse_against(bad));
    }
}

TEST_CASE("medians, intervals and variation") {
    CHECK(median({}) == 0);
    CHECK(median({3, 1, 2}) == 2);
    CHECK(median({4, 1, 2, 3}) == Approx(2.5));
    const auto of_three = confidence({9, 10, 11});
    REQUIRE(of_three);
    CHECK(of_three->low == Approx(10 - 4.303 / std::sqrt(3.0)));
    CHECK(of_three->high == Approx(10 + 4.303 / std::sqrt(3.0)));
    for (const std::vector<double>& few : {std::vector<double>{}, {7}, {7, 8}}) {
        CHECK_FALSE(confidence(few));
    }
    CHECK(coefficient_of_variation({1, 3}) == Approx(std::sqrt(2.0) / 2));
    CHECK(coefficient_of_variation({}) == 0);
}

TEST_CASE("rates are of intervals, and few") {
    engine::Series series(2, 10ms);
    for (int i = 0; i <= 1000; ++i) {
        const auto bytes = static_cast<std::uint64_t>(i) * 12'500;  // 10 Mbit/s
        series.add(Time{} + i * 10ms, std::array<std::uint64_t, 2>{bytes, 2 * bytes});
    }
    const Rates rates = rates_of(series);
    CHECK(rates.seconds.size() <= 256);
    CHECK(rates.seconds.size() >= 90);
    for (std::size_t i = 0; i < rates.seconds.size(); ++i) {
        CHECK(rates.stripes[0][i] == Approx(10).epsilon(0.01));
        CHECK(rates.stripes[1][i] == Approx(20).epsilon(0.01));
    }
    CHECK(rates_of(engine::Series{}).seconds.empty());
}

TEST_CASE("an earlier trial is found again by its cases") {
    const CaseResult now = result(2), before = result(1);
    const auto old = earlier_trial(case_json(before).line() + "\n{\"event\":\"summary\"}\n");
    REQUIRE(old);
    REQUIRE(old->cases.size() == 1);
    CHECK(old->cases.at(now.what.key()).gbit_per_s == Approx(1));
    CHECK_FALSE(old->cases.at(now.what.key()).interval);
    CHECK(old->server.empty());
    const TrialOrigin origin{.time = "2026-11-23T14:00:00Z",
                             .client = "here",
                             .server = "there:2811",
                             .version = "1",
                             .command = "lambda-ftp trial there:"};
    CHECK(earlier_trial(origin_json(origin).line() + "\n" + case_json(before).line())->server ==
          "there:2811");
    CHECK(earlier_trial("{\"event\":\"trial\",\"server\":7}\n" + case_json(before).line())
              ->server.empty());
    for (const char* wrong : {"", "no JSON", "[]", "{\"event\":\"case\"}",
                              "{\"event\":\"case\",\"key\":7,\"gbit_per_s\":\"x\"}"}) {
        CHECK_FALSE(earlier_trial(wrong));
    }
}

TEST_CASE("a case has the verdict of the run nearest to its median") {
    CaseResult made = result(1);
    CHECK(!made.verdict());
    CHECK_THAT(case_json(made).line(), Catch::Contains("\"verdict\":null"));
    const auto measured = [](double gbit, verdict::Figure waited) {
        Measures run{.gbit_per_s = gbit, .rates = {}, .evidence = {}};
        run.evidence.emplace();
        run.evidence->law = "sabul";
        run.evidence->sender[verdict::Figure::elapsed] = 10'000'000;
        run.evidence->sender[waited] = 9'000'000;
        return run;
    };
    made.runs = {measured(1, verdict::Figure::source), measured(9, verdict::Figure::finish),
                 measured(5, verdict::Figure::limit)};
    REQUIRE(made.verdict());
    CHECK(made.verdict()->cause == verdict::Cause::rate_limit);
    CHECK_THAT(case_json(made).line(), Catch::Contains("\"cause\":\"rate_limit\""));
}

TEST_CASE("a trial ends with what to change, that of most cases first") {
    const auto held_by = [](verdict::Figure waited) {
        CaseResult made = result(1);
        made.runs.front().evidence.emplace();
        made.runs.front().evidence->law = "sabul";
        made.runs.front().evidence->sender[verdict::Figure::elapsed] = 10'000'000;
        made.runs.front().evidence->sender[waited] = 9'000'000;
        return made;
    };
    CHECK(advice_on_causes({}).empty());
    CHECK(advice_on_causes({result(1)}).empty());  // without a verdict
    const CaseResult limited = held_by(verdict::Figure::limit);
    const auto said =
        advice_on_causes({held_by(verdict::Figure::source), limited, result(1), limited});
    REQUIRE(said.size() == 2);
    CHECK_THAT(said[0], Catch::Contains("2 of 4 cases (held back by the rate limit"));
    CHECK_THAT(said[0], Catch::Contains(limited.verdict()->remedy));
    CHECK_THAT(said[1], Catch::Contains("1 of 4 cases"));
    CaseResult less = limited;
    less.runs.front().evidence->sender[verdict::Figure::limit] = 8'900'000;
    CHECK(advice_on_causes({limited, less}).size() == 1);
    CHECK_THAT(advice_on_causes({limited, less})[0],
               Catch::Contains("2 of 2 cases (held back by the rate limit): "));
}

TEST_CASE("a trial of runs that were too short says which size is enough") {
    const auto short_run = [](double gbit, std::uint64_t elapsed_us) {
        CaseResult made = result(gbit);
        made.runs.front().evidence.emplace();
        made.runs.front().evidence->sender[verdict::Figure::elapsed] = elapsed_us;
        return made;
    };
    const auto said = advice_on_causes({short_run(1, 400'000), short_run(3, 100'000)});
    REQUIRE(said.size() == 1);
    CHECK_THAT(said[0], Catch::Contains("2 of 2 cases (too short to tell what held it back): give "
                                        "--size 512MiB or more"));
    CHECK_THAT(advice_on_causes({short_run(9, 100'000)})[0], Catch::Contains("--size 2GiB"));
}

TEST_CASE("cases of a leg are told apart by their intervals alone") {
    const auto runs_of = [](std::uint16_t stripes, std::vector<double> rates) {
        CaseResult made = result(1);
        made.what.settings.stripes = stripes;
        made.runs.clear();
        for (const double gbit : rates)
            made.runs.push_back({.gbit_per_s = gbit, .rates = {}, .evidence = {}});
        return made;
    };
    const CaseResult slow = runs_of(1, {1, 1.01, 0.99}), fast = runs_of(2, {2, 2.01, 1.99});
    CHECK(advice_on_choice({slow}).empty());
    auto said = advice_on_choice({slow, fast});
    REQUIRE(said.size() == 1);
    CHECK_THAT(said[0], Catch::Contains("2 stripes"));
    CHECK_THAT(said[0], Catch::Contains("by more than chance"));
    said = advice_on_choice({slow, fast, runs_of(4, {1.5, 1.9, 2.3})});
    CHECK_THAT(said[0], Catch::Contains("not told apart from it: "));
    CHECK_THAT(said[0], Catch::Contains("4 stripes"));
    CHECK_THAT(said[0], !Catch::Contains("1 stripe,"));
    said = advice_on_choice({slow, runs_of(2, {2})});
    CHECK_THAT(said[0], Catch::Contains("too few runs"));
}

TEST_CASE("wide intervals are said, with what to do") {
    CaseResult narrow = result(1), wide = result(1);
    CHECK(advice_on_intervals({}).empty());
    CHECK(advice_on_intervals({narrow}).empty());  // of one run
    for (const double gbit : {1.0, 1.01})
        narrow.runs.push_back({.gbit_per_s = gbit, .rates = {}, .evidence = {}});
    for (const double gbit : {1.5, 2.0})
        wide.runs.push_back({.gbit_per_s = gbit, .rates = {}, .evidence = {}});
    CHECK(advice_on_intervals({narrow}).empty());
    CHECK(wide.uncertainty() == Approx(4.303 * 0.5 / std::sqrt(3.0) / 1.5).epsilon(0.001));
    const std::string advice = advice_on_intervals({narrow, wide});
    CHECK_THAT(advice, Catch::Contains("of 1 of 2 cases"));
    CHECK_THAT(advice, Catch::Contains("the widest: 83 %"));
    CHECK_THAT(advice, Catch::Contains("--repetitions"));
    wide.runs.pop_back();
    CHECK(advice_on_intervals({wide}).empty());  // of two runs
    wide.runs = {{.gbit_per_s = 0, .rates = {}, .evidence = {}},
                 {.gbit_per_s = 0, .rates = {}, .evidence = {}}};
    CHECK(advice_on_intervals({wide}).empty());
}

TEST_CASE("of too few runs there is no interval, and that is said") {
    CaseResult made = result(1);
    CHECK(made.interval() == "too few runs for an interval, 1 of 3");
    made.runs.push_back({.gbit_per_s = 2, .rates = {}, .evidence = {}});
    CHECK(made.interval() == "too few runs for an interval, 2 of 3");
    CHECK(made.uncertainty() == 0);
    CHECK_THAT(case_json(made).line(),
               Catch::Contains("\"gbit_per_s_low\":null,\"gbit_per_s_high\":null"));
    made.runs.push_back({.gbit_per_s = 1.5, .rates = {}, .evidence = {}});
    CHECK(made.interval() == "0.258 to 2.742");
}

TEST_CASE("a case is told apart from an earlier one by both intervals") {
    const auto three = [](double a, double b, double c) {
        CaseResult made = result(a);
        for (const double each : {b, c})
            made.runs.push_back({.gbit_per_s = each, .rates = {}, .evidence = {}});
        return made;
    };
    const auto since = [](const CaseResult& before, const CaseResult& now) {
        const auto change = change_since(*earlier_trial(case_json(before).line()), now);
        REQUIRE(change);
        return *change;
    };
    const CaseResult before = three(0.9, 1.0, 1.1);  // 0.752 to 1.248
    const Change apart = since(before, three(1.9, 2.0, 2.1));
    CHECK(apart.sentence() ==
          "before 1.000 Gbit/s (0.752 to 1.248), now 2.00 times that, by more than chance");
    CHECK(apart.told_apart == true);
    // Though the median of neither lies within the other's interval.
    const Change near = since(before, three(1.3, 1.4, 1.5));
    CHECK(near.told_apart == false);
    CHECK_THAT(near.sentence(), Catch::Contains("not told apart"));
    CHECK_FALSE(since(result(1), three(1, 2, 3)).told_apart);
    CHECK_THAT(since(before, result(1)).sentence(), Catch::Contains("too few runs"));

    JsonObject told;
    add_change(told, apart);
    CHECK_THAT(told.line(), Catch::Contains("\"before_gbit_per_s_high\":1.248") &&
                                Catch::Contains("\"times_before\":2.000000") &&
                                Catch::Contains("\"told_apart\":true"));
    const EarlierTrial other{.server = {},
                             .cases = {{"another", {.gbit_per_s = 1, .interval = {}}}}};
    CHECK_FALSE(change_since(other, before));
    CHECK(not_run_again(other, {before}) == 1);
    const EarlierTrial same = *earlier_trial(case_json(before).line());
    CHECK(not_run_again(same, {before}) == 0);
    CHECK(not_run_again(same, {before, before, before}) == 0);  // --stripes 2,2,2
}

TEST_CASE("what was not measured is null, and an empty field") {
    const CaseResult made = result(1);
    CHECK_THAT(
        run_json(made.what, made.runs[0], 1).line(),
        Catch::Contains("\"rtt_ms\":null") && Catch::Contains("\"efficiency_mbit_per_s\":null"));
    CHECK_THAT(csv_line(made.what, made.runs[0], 1), Catch::Contains(",,,"));
    CHECK(std::isnan(median({1, kUnknown, 2})));
    CHECK_FALSE(confidence({1, kUnknown, 2}));
}

TEST_CASE("a page says when and where, and what its columns are") {
    TrialStory story;
    story.origin = {.time = "2026-11-23T14:00:00Z",
                    .client = "here",
                    .server = "there:2811",
                    .version = "1.2",
                    .command = "lambda-ftp trial there:"};
    story.cases = {result(1)};
    const report::Page page = trial_page(story);
    CHECK(page.title == "Trial of the path to there:2811");
    CHECK(page.text == "2026-11-23T14:00:00Z, from here to there:2811, by lambda-ftp 1.2");
    REQUIRE(page.sections.size() > 1);
    for (const char* column : {"efficiency: ", "\nvariation: ", "\nJain: ", "\nagain %: "})
        CHECK_THAT(page.sections[1].text, Catch::Contains(column));
}
