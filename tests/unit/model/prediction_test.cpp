#include "tools/model/prediction.h"

#include "tests/support/catch.h"
#include "tools/model/explanation.h"

using namespace lambda;
using namespace lambda::model;
using sabul::MimdParameters;

namespace {

MimdParameters law(const std::string& text) {
    sabul::Parameters parameters(text);
    return MimdParameters::read(parameters);
}

std::vector<double> rates(double service, const std::vector<Start>& flows) {
    return shares({service}, flows);
}

std::string error_of(const Question& question) {
    const Result<Answer> answered = answer(question);
    return answered.ok() ? "" : answered.error().sentence();
}

}  // namespace

TEST_CASE("the model's goodput: Pr0 0.986 to 0.996, Pr1 all, RC 0.946 to 0.982") {
    for (const double service : {300., 500., 800.}) {
        CAPTURE(service);
        const double pr0 = predict({service}, {}, 100).goodput;
        CHECK(pr0 >= 0.9855);
        CHECK(pr0 <= 0.9968);
        CHECK(predict({service}, law("mimd:preset=pr1"), 100).goodput == Approx(1).margin(0.0005));
        const double rc = predict({service}, law("mimd:preset=rc"), 100).goodput;
        CHECK(rc >= 0.945);
        CHECK(rc <= 0.983);
    }
}

TEST_CASE("the oscillation of Pr0 at 500 Mbit/s") {
    const Prediction told = predict({500}, {}, 100);
    CHECK(told.course == Course::oscillates);
    CHECK(told.period_rounds == Approx(5.4).margin(0.2));
    CHECK(told.least_mbit == Approx(490.3).margin(0.5));
    CHECK(told.most_mbit == Approx(501.2).margin(0.5));
    CHECK(told.longest_decrease == 1);
    CHECK(told.longest_increase == 5);
}

TEST_CASE("a queue takes the overshoot of the first rounds") {
    Recurrence fluid({500}), queued({500, 1000});
    fluid.add({}, 600);
    queued.add({}, 600);
    fluid.step();
    queued.step();
    CHECK(fluid.flows()[0].loss == Approx(1 - 500.0 / 600));
    // 100 Mbit/s too much for 200 ms are 20 Mbit, of which 1,000 packets wait.
    CHECK(queued.flows()[0].loss == Approx((20e6 - 12e6) / 120e6));
    CHECK(queued.backlog_bits() == Approx(12e6));
}

TEST_CASE("table I of 2004: equal T is fair, the shorter T wins, Pr1 leaves Pr0 nothing") {
    const MimdParameters pr0, slow = law("mimd:T=400ms"), pr1 = law("mimd:preset=pr1");
    const auto equal = rates(950, {{pr0, 280}, {pr0, 360}});
    CHECK(equal[0] / equal[1] == Approx(1).margin(0.03));
    CHECK(equal[0] + equal[1] > 0.97 * 950);
    for (const auto& unequal :
         {rates(950, {{slow, 363}, {pr0, 280}}), rates(950, {{slow, 288}, {pr0, 382}}),
          rates(950, {{slow, 292}, {pr0, 388}})}) {
        CHECK(unequal[1] / unequal[0] > 1.05);
        CHECK(unequal[1] / unequal[0] < 1.6);
    }
    const auto unlike = rates(530, {{pr0, 300}, {pr1, 120}});  // beside 420 Mbit/s of UDP
    CHECK(unlike[0] <= 0.12 * unlike[1]);
}

TEST_CASE("table II of 2004: three of equal T are fair, of 600, 400 and 200 ms in that order") {
    const auto equal = rates(950, {{{}, 320}, {{}, 260}, {{}, 210}});
    for (const double rate : equal) CHECK(rate == Approx(317).epsilon(0.03));
    const auto unequal =
        rates(950, {{law("mimd:T=600ms"), 320}, {law("mimd:T=400ms"), 260}, {{}, 210}});
    CHECK(unequal[0] < unequal[1]);
    CHECK(unequal[1] < unequal[2]);
    CHECK(unequal[0] + unequal[1] + unequal[2] == Approx(950).epsilon(0.03));
}

TEST_CASE("a question is answered in words and as JSON") {
    Question question;
    question.laws = {"mimd", "mimd:T=400ms"};
    const Result<Answer> all = answer(question);
    REQUIRE(all.ok());
    const std::string words = explain(*all);
    CHECK_THAT(words, Catch::Contains("It locks at 951.0 Mbit/s"));
    CHECK_THAT(words, Catch::Contains("within 5 % after 529 rounds (105.8 s)"));
    CHECK_THAT(words, Catch::Contains("Together on the link"));
    const std::string json = json_text(*all);
    CHECK_THAT(json, Catch::Contains("\"fairness\":{\"rounds\":529,"));
    CHECK_THAT(json, Catch::Contains("\"course\":\"locks\""));
    CHECK_THAT(json, Catch::Contains("\"shares_mbit\":["));
    CHECK(json.find('\n') == std::string::npos);
}

TEST_CASE("a question that makes no sense is refused") {
    Question question;
    question.laws = {"reno"};
    CHECK_THAT(error_of(question), Catch::Contains("has no model"));
    question.laws = {"mimd:speed=9"};
    CHECK_THAT(error_of(question), Catch::Contains("has no parameter 'speed'"));
    question.laws = {"mimd"};
    question.initial_mbit = {100};
    CHECK_THAT(error_of(question), Catch::Contains("give 2"));
    question.initial_mbit = {100, 500};
    question.link.service_mbit = 1000;
    CHECK_THAT(error_of(question), Catch::Contains("not slower than the interface"));
    question.laws.assign(17, "mimd");
    CHECK_THAT(error_of(question), Catch::Contains("one to sixteen"));
}
