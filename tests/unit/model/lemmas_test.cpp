// The corrected lemmas of the 2004 paper, with the figures that were computed for them. C is
// 1000 Mbit/s, packets are 1,500 bytes and α is 0.001 unless said.
#include "tools/model/lemmas.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/catch.h"
#include "tools/model/prediction.h"

using namespace lambda;
using namespace lambda::model;
using sabul::MimdParameters;

namespace {

MimdParameters law(const std::string& text) {
    sabul::Parameters parameters(text);
    const MimdParameters read = MimdParameters::read(parameters);
    REQUIRE(parameters.finish().ok());
    return read;
}

const MimdParameters kPr0 = {};

Lemma lemma(int number, const MimdParameters& of, Link link, double rate = 100) {
    const std::vector<Lemma> all = check_lemmas(link, of, rate);
    REQUIRE(all.size() == 8);
    const Lemma& one = all[static_cast<std::size_t>(number) - 1];
    REQUIRE(one.number == number);
    return one;
}

double value(const Lemma& of, const std::string& name) {
    for (const Value& each : of.values) {
        if (each.name == name) return each.value;
    }
    FAIL("no value " << name);
    return 0;
}

// Draws parameter sets; `seed` is told where a test fails.
struct Sets {
    std::mt19937 random;
    explicit Sets(unsigned seed) : random(seed) {}
    double uniform(double low, double high) {
        return low + (high - low) * std::generate_canonical<double, 53>(random);
    }
    double power(double low, double high) { return std::pow(10, uniform(low, high)); }
    MimdParameters next() {
        MimdParameters drawn;
        drawn.k1 = power(-3, 0);
        drawn.k2 = power(-0.3, 2.5);
        drawn.alpha = power(-4, -1.3);
        drawn.c_us = power(-2, 1);
        drawn.round = from_seconds(uniform(0.01, 0.5));
        return drawn;
    }
};

// Whether an increase from `rate` comes to its limit without ever losing more than α.
bool rises_without_overshoot(const MimdParameters& of, const Link& link, double rate) {
    Recurrence model(link);
    model.add(of, rate);
    double before = model.rate_mbit(0);
    for (int i = 0; i < 20000; ++i) {
        model.step();
        if (model.flows()[0].mode == Mode::decrease || model.rate_mbit(0) < before - 1e-9) {
            return false;
        }
        before = model.rate_mbit(0);
    }
    return std::abs(before - link.service_mbit / (1 - of.alpha)) < 0.01;
}

}  // namespace

TEST_CASE("lemma 1: as printed, k2 α > 1, the gap would be negative after one round") {
    CHECK(next_gap_us(law("mimd:k2=1100"), 40, 0) == Approx(-4));
    CHECK(lemma(1, law("mimd:k2=1100"), {500}).as_printed);
    CHECK_FALSE(lemma(1, law("mimd:k2=1100"), {500}).holds);
}

TEST_CASE("lemma 1: without overshoot up to k2 = C / (C - μ)") {
    const Link link{500};
    CHECK(value(lemma(1, kPr0, link), "k2_most") == Approx(2));
    CHECK(value(lemma(1, kPr0, link), "limit") == Approx(500.5005));
    CHECK(lemma(1, law("mimd:k2=2"), link).holds);
    CHECK_FALSE(lemma(1, law("mimd:k2=2.01"), link).holds);
    for (const double start : {1., 50., 100., 333., 499., 500.2}) {
        CAPTURE(start);
        CHECK(rises_without_overshoot(law("mimd:k2=1.5"), link, start));
        CHECK(rises_without_overshoot(law("mimd:k2=2"), link, start));
    }
    // 2.01: some start, just below μ, is thrown over the limit.
    bool thrown = false;
    for (double start = 499.9; start < 500.1; start += 0.001) {
        thrown = thrown || !rises_without_overshoot(law("mimd:k2=2.01"), link, start);
    }
    CHECK(thrown);
}

TEST_CASE(
    "lemma 2: a decrease ends; were it to last, it would come to c / (k1 α), not to nothing") {
    const Lemma pr0 = lemma(2, kPr0, {500});
    CHECK(pr0.holds);
    CHECK(value(pr0, "lasting_gap") == Approx(5000));
    CHECK(value(pr0, "lasting_rate") == Approx(2.39).margin(0.005));
    CHECK(value(pr0, "from_interface_rate") == 21);
    const Lemma rc = lemma(2, law("mimd:preset=rc"), {500});
    CHECK(value(rc, "lasting_gap") == Approx(16000));
    CHECK(value(rc, "lasting_rate") == Approx(0.75).margin(0.005));
    CHECK(value(rc, "from_interface_rate") == 6);
    CHECK(value(lemma(2, law("mimd:preset=pr1"), {500}), "from_interface_rate") == 4088);
    // Without c, a sender at the interface's rate stays there.
    CHECK_FALSE(lemma(2, law("mimd:c=0"), {500}).holds);
    CHECK_FALSE(first_decrease({500}, law("mimd:c=0"), 10000).has_value());
}

TEST_CASE("lemma 3: Pr0 oscillates below 899 Mbit/s and locks at 950") {
    CHECK(value(lemma(3, kPr0, {500}), "service_below") == Approx(899));
    CHECK(lemma(3, kPr0, {898.9}).holds);
    CHECK_FALSE(lemma(3, kPr0, {899.1}).holds);
    const Lemma at_950 = lemma(3, kPr0, {950});
    CHECK_FALSE(at_950.holds);
    const Prediction locked = predict({950}, kPr0, 100);
    CHECK(locked.course == Course::locks);
    CHECK(locked.loss / kPr0.alpha == Approx(1).margin(0.0005));
    CHECK(locked.mean_mbit == Approx(950 / 0.999));
    // The printed condition, k2 > C / (C - μ), holds in a gap where some starts end at the limit.
    const MimdParameters between = law("mimd:alpha=0.04,k2=20");
    CHECK(lemma(3, between, {945}).as_printed);
    CHECK_FALSE(lemma(3, between, {945}).holds);
    int locked_starts = 0;
    for (int start = 50; start <= 950; start += 50) {
        locked_starts += predict({945}, between, start).course == Course::locks ? 1 : 0;
    }
    CHECK(locked_starts > 0);
    CHECK(locked_starts < 19);
}

TEST_CASE("lemma 3: random sets that meet the condition oscillate") {
    const unsigned seed = 3;
    INFO("seed " << seed);
    Sets sets(seed);
    int met = 0;
    for (int i = 0; i < 600; ++i) {
        const MimdParameters drawn = sets.next();
        const Link link{sets.uniform(50, 990)};
        const double start = sets.uniform(5, link.service_mbit);
        // At an overshoot of 2 an orbit may come to the limit by itself, to the last digit.
        const double overshoot = landmarks(link, drawn).overshoot;
        if (!lemma(3, drawn, link, start).holds || std::abs(overshoot - 2) < 0.05) continue;
        ++met;
        CAPTURE(drawn.k1, drawn.k2, drawn.alpha, drawn.c_us, link.service_mbit);
        CHECK(predict(link, drawn, start, 2000).course == Course::oscillates);
    }
    CHECK(met > 200);
}

TEST_CASE("lemma 4: the printed lower rates are wrong, δ_max is right") {
    const Link link{500};
    const Landmarks at = landmarks(link, kPr0);
    CHECK(at.service_gap_us == Approx(12));
    CHECK(at.limit_gap_us == Approx(11.976));
    CHECK(at.most_gap_us == Approx(11.976 * (1 + 0.1 * 0.499) + 0.5));
    CHECK(at.least_mbit == Approx(1000 * 12 / (12 + at.most_gap_us)));
    // λ_min1 with its own c, L α / μ - L k1 / μ + L k1 α / μ + L k1 / C: directly, and as printed.
    const double c = 1000, mu = 500, k1 = 0.1, a = 0.001, l = 12000;
    const double own_c = l * a / mu - l * k1 / mu + l * k1 * a / mu + l * k1 / c;
    const double direct = l / (l / c + at.limit_gap_us * (1 + k1 * (1 - mu / c - a)) + own_c);
    const double printed = c * c * mu /
                           (c * c - k1 * c * mu + k1 * c * mu * a + k1 * mu * a - k1 * c * c * a +
                            k1 * a * a * c * c + k1 * c * mu * a);
    CHECK(own_c < 0);
    CHECK(own_c == Approx(-1.17).margin(0.01));
    CHECK(printed == Approx(526.3).margin(0.05));
    CHECK(direct == Approx(512.8).margin(0.05));
    CHECK(direct > mu);  // against "by assumption" in the proof
    // λ_min2: c = L / μ - L / C.
    const double printed_2 =
        c * c * mu / ((c * c * (1 - a) - c * mu) * (c + k1 * (c * (1 - a) - mu)) + c * c);
    CHECK(printed_2 == Approx(0.953).margin(0.001));
}

TEST_CASE("lemmas 4 and 5: no phase of a random set is longer than its bound") {
    const unsigned seed = 4;
    INFO("seed " << seed);
    Sets sets(seed);
    int runs = 0;
    while (runs < 300) {
        const MimdParameters drawn = sets.next();
        const Link link{sets.uniform(50, 950), std::floor(sets.uniform(0, 5000))};
        const double start = sets.uniform(5, link.service_mbit);
        if (!lemma(3, drawn, link, start).holds) continue;
        ++runs;
        CAPTURE(drawn.k1, drawn.k2, drawn.alpha, drawn.c_us, link.service_mbit);
        const Lemma increases = lemma(4, drawn, link, start);
        const double first = value(increases, "first"), any = value(increases, "any");
        const double decrease = value(lemma(5, drawn, link, start), "any");
        Recurrence model(link);
        model.add(drawn, start);
        Mode mode = Mode::increase;
        double length = 0, longest_first = 0, longest = 0, longest_decrease = 0;
        bool is_first = true;
        for (int i = 0; i < 3000; ++i) {
            model.step();
            const Mode now = model.flows()[0].mode;
            if (now != mode) {
                is_first = false;
                mode = now;
                length = 0;
            }
            ++length;
            if (mode == Mode::decrease) longest_decrease = std::max(longest_decrease, length);
            if (mode == Mode::increase) longest = std::max(longest, length);
            if (mode == Mode::increase && is_first) longest_first = length;
        }
        CHECK(longest_first <= first);
        CHECK(longest <= any);
        CHECK(longest_decrease <= decrease);
    }
}

TEST_CASE("lemma 6: a loss target that the interface cannot reach") {
    CHECK(lemma(6, law("mimd:alpha=0.06"), {950}).holds);
    CHECK_FALSE(lemma(6, law("mimd:alpha=0.04"), {950}).holds);
    const Prediction up = predict({950}, law("mimd:alpha=0.06"), 100);
    CHECK(up.course == Course::rises);
    CHECK(up.most_mbit == Approx(1000).epsilon(0.001));
    CHECK(up.loss < 0.06);
}

TEST_CASE("a law without an increase stays where it is") {
    for (const std::string text : {"mimd:k2=0", "mimd:alpha=0"}) {
        const Prediction still = predict({950}, law(text), 100);
        CHECK(still.course == Course::stays);
        CHECK(still.most_mbit == 100);
    }
}

TEST_CASE("lemma 7: Pr1 loses more than α") {
    const MimdParameters pr1 = law("mimd:preset=pr1");
    const std::pair<double, double> cells[] = {{300, 2.12}, {500, 2.31}, {800, 1.78}, {950, 1.14}};
    for (const auto& [service, ratio] : cells) {
        CAPTURE(service);
        CHECK(lemma(7, pr1, {service}).holds);
        CHECK(predict({service}, pr1, 100, 50000).loss / pr1.alpha == Approx(ratio).margin(0.015));
    }
    CHECK_FALSE(lemma(7, kPr0, {500}).holds);
}

TEST_CASE("lemma 7: random sets that meet the condition lose more than α") {
    const unsigned seed = 7;
    INFO("seed " << seed);
    Sets sets(seed);
    int met = 0;
    for (int i = 0; i < 1500; ++i) {
        const MimdParameters drawn = sets.next();
        const Link link{sets.uniform(50, 990)};
        const double start = sets.uniform(5, link.service_mbit);
        if (!lemma(7, drawn, link, start).holds || landmarks(link, drawn).overshoot < 2.05)
            continue;
        ++met;
        CAPTURE(drawn.k1, drawn.k2, drawn.alpha, drawn.c_us, link.service_mbit);
        CHECK(predict(link, drawn, start, 3000).loss > drawn.alpha);
    }
    CHECK(met > 100);
}

TEST_CASE("lemma 8: rounds from 100 and 500 Mbit/s to equal rates") {
    const Link link{950};
    CHECK(rounds_to_fairness(link, kPr0, 100, 500) == 529);
    CHECK(rounds_to_fairness(link, law("mimd:preset=rc"), 100, 500) == 460);
    CHECK(static_cast<double>(
              rounds_to_fairness(link, law("mimd:preset=pr1"), 100, 500).value_or(0)) ==
          Approx(21163).epsilon(0.005));
    // c alone brings the two together.
    const MimdParameters without_c = law("mimd:c=0");
    CHECK_FALSE(rounds_to_fairness(link, without_c, 100, 500, 100000).has_value());
    const Start both[] = {{without_c, 100}, {without_c, 500}};
    const std::vector<double> rates = shares(link, both);
    CHECK(rates[1] / rates[0] == Approx(3.20).margin(0.05));
    CHECK_FALSE(lemma(8, without_c, {500}).holds);
    CHECK(lemma(8, kPr0, link).holds);
    CHECK_FALSE(lemma(8, law("mimd:k2=1.5"), link).holds);
}
