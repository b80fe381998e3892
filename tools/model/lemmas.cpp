#include "tools/model/lemmas.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/model/prediction.h"

namespace lambda::model {
namespace {

using sabul::MimdParameters;

// Rounds beyond the printed bounds that occur: the round in which the queue fills is itself only
// part full, and so is the first of a decrease.
constexpr double kSlack = 2;
// Lemma 7: with the printed k2 (1 - μ/C) >= 2, one random set in 200 has γ a little below α, all of
// them with α not small against 1 - μ/C; with α taken off, none (tests/unit/model).
constexpr double kStrictLoss = 2;

std::string text(const char* format, double a, double b = 0, double c = 0) {
    char out[160];
    std::snprintf(out, sizeof out, format, a, b, c);
    return out;
}

struct Case {
    const Link& link;
    const MimdParameters& law;
    Landmarks at;
    bool loses;  // C > μ / (1 - α): the interface can send more than α too much
    double k2_alpha;
    double gain;  // C / (C - μ)
};

Lemma lemma1(const Case& c) {
    return {
        .number = 1,
        .claim =
            "an increase approaches mu/(1-alpha) from below, from any start, and loss "
            "approaches alpha",
        .holds = c.loses && c.k2_alpha > 0 && c.k2_alpha < 1 && c.law.k2 <= c.gain,
        .why = text(
            "needs 0 < k2 alpha < 1 and k2 <= C/(C-mu): k2 alpha is %.4g, k2 %.4g, C/(C-mu) %.4g",
            c.k2_alpha, c.law.k2, c.gain),
        .as_printed = c.loses && c.k2_alpha > 1,
        .values = {{"limit", c.at.limit_mbit, "Mbit/s"}, {"k2_most", c.gain, ""}}};
}

Lemma lemma2(const Case& c) {
    Lemma lemma{
        .number = 2,
        .claim = "every decrease ends",
        .holds = c.loses && c.law.c_us > 0,
        .why = text("needs C > mu/(1-alpha) and c > 0: mu/(1-alpha) is %.5g Mbit/s, c %.4g us",
                    c.at.limit_mbit, c.law.c_us),
        .as_printed = c.loses,
        .values = {}};
    if (c.law.k1 > 0 && c.law.alpha > 0) {
        lemma.values = {{"lasting_gap", c.at.lasting_gap_us, "us"},
                        {"lasting_rate", rate_of(c.law, c.link, c.at.lasting_gap_us), "Mbit/s"}};
    }
    const auto rounds = lemma.holds ? first_decrease(c.link, c.law) : std::nullopt;
    if (rounds) {
        lemma.values.push_back({"from_interface_rate", static_cast<double>(*rounds), "rounds"});
    }
    return lemma;
}

Lemma lemma3(const Case& c) {
    return {.number = 3,
            .claim = "the rate oscillates between increase and decrease for ever",
            .holds = c.loses && c.k2_alpha < 1 && c.law.c_us > 0 && c.at.overshoot > 1,
            .why = text(
                "needs k2 (1-alpha-mu/C) > 1, k2 alpha < 1 and c > 0: they are %.4g, %.4g, %.4g us",
                c.at.overshoot, c.k2_alpha, c.law.c_us),
            .as_printed = c.loses && c.k2_alpha < 1 && c.law.k2 > c.gain,
            .values = {{"overshoot", c.at.overshoot, ""},
                       {"service_below", c.at.interface_mbit * (1 - c.law.alpha - 1 / c.law.k2),
                        "Mbit/s"}}};
}

Lemma lemma4(const Case& c, double rate_mbit) {
    Lemma lemma{.number = 4,
                .claim = "an increase, until the queue is full, is no longer than the bound",
                .holds = c.loses && c.k2_alpha > 0 && c.k2_alpha < 1,
                .why = text("needs C > mu/(1-alpha) and 0 < k2 alpha < 1: mu/(1-alpha) is %.5g "
                            "Mbit/s, k2 alpha %.4g",
                            c.at.limit_mbit, c.k2_alpha),
                .as_printed = c.loses && c.k2_alpha < 1 && c.law.k2 > c.gain,
                .values = {}};
    if (!lemma.holds) return lemma;
    const double first = increase_bound(c.link, c.law, rate_mbit) + kSlack;
    const double later = increase_bound(c.link, c.law, c.at.least_mbit) + kSlack;
    lemma.values = {{"first", first, "rounds"},
                    {"any", std::max(first, later), "rounds"},
                    {"least_rate", c.at.least_mbit, "Mbit/s"}};
    return lemma;
}

Lemma lemma5(const Case& c) {
    return {
        .number = 5,
        .claim = "a decrease is no longer than the bound",
        .holds = c.loses && c.law.c_us > 0,
        .why =
            text("needs c > 0: each round adds c, %.4g us, at least, and a gap of %.4g us ends it",
                 c.law.c_us, c.at.limit_gap_us),
        .as_printed = true,
        .values =
            c.loses && c.law.c_us > 0
                ? std::vector<Value>{{"any", std::ceil(c.at.limit_gap_us / c.law.c_us), "rounds"}}
                : std::vector<Value>{}};
}

Lemma lemma6(const Case& c) {
    const double bound = 1 - c.link.service_mbit / c.at.interface_mbit;
    const bool holds = c.law.alpha > bound;
    return {.number = 6,
            .claim = "an increase never ends",
            .holds = holds,
            .why = text("needs alpha > 1 - mu/C: they are %.4g and %.4g", c.law.alpha, bound),
            .as_printed = holds,
            .values = {}};
}

Lemma lemma7(const Case& c) {
    const double bound = ((1 + c.law.k1) * c.k2_alpha - c.law.k1) * c.at.service_gap_us;
    const double reach = c.law.k2 * (1 - c.link.service_mbit / c.at.interface_mbit);
    const bool small_steps =
        c.loses && c.k2_alpha < 1 && (1 + c.law.k1) * c.k2_alpha > c.law.k1 && c.law.c_us <= bound;
    return {
        .number = 7,
        .claim = "the mean loss is above alpha",
        .holds = small_steps && c.at.overshoot >= kStrictLoss,
        .why = text(
            "needs k2 (1-alpha-mu/C) >= 2 and a small c: they are %.4g, %.4g us of at most %.4g us",
            c.at.overshoot, c.law.c_us, bound),
        .as_printed = small_steps && reach >= 2 && c.law.k2 > 2,
        .values = {{"c_most", bound, "us"}}};
}

// Two flows at equal rates move as one does that has half the link.
Lemma lemma8(const Case& c) {
    Link half = c.link;
    half.service_mbit /= 2;
    const double overshoot = landmarks(half, c.law).overshoot;
    return {.number = 8,
            .claim = "two flows of this law come to equal rates",
            .holds = c.k2_alpha < 1 && overshoot > 1 && c.law.c_us > 0,
            .why = text("needs k2 (1-alpha-mu/2C) > 1, k2 alpha < 1 and c > 0: they are %.4g, "
                        "%.4g, %.4g us",
                        overshoot, c.k2_alpha, c.law.c_us),
            .as_printed = true,
            .values = {}};
}

}  // namespace

Landmarks landmarks(const Link& link, const MimdParameters& law) {
    Landmarks at{};
    at.interface_mbit = law.interface.bits_per_second / 1e6;
    at.limit_mbit = link.service_mbit / (1 - law.alpha);
    at.service_gap_us = gap_at(law, link, link.service_mbit);
    at.limit_gap_us = gap_at(law, link, at.limit_mbit);
    const double most_loss = 1 - link.service_mbit / at.interface_mbit;
    at.most_gap_us = at.limit_gap_us * (1 + law.k1 * (most_loss - law.alpha)) + law.c_us;
    at.least_mbit = rate_of(law, link, at.most_gap_us);
    at.lasting_gap_us = law.c_us / (law.k1 * law.alpha);
    at.overshoot = law.k2 * (most_loss - law.alpha);
    return at;
}

double increase_bound(const Link& link, const MimdParameters& law, double rate_mbit) {
    const double c = law.interface.bits_per_second / 1e6, mu = link.service_mbit;
    const double k2_alpha = law.k2 * law.alpha;
    const double gap = gap_at(law, link, rate_mbit), service_gap = gap_at(law, link, mu);
    const double to_service =
        gap > service_gap ? std::ceil(std::log(service_gap / gap) / std::log(1 - k2_alpha)) : 0;
    const double round_us = seconds(law.round) * 1e6;
    const double to_full =
        std::ceil(link.queue_packets * link.packet_bits * (c - c * k2_alpha + k2_alpha * mu) /
                  (round_us * k2_alpha * mu * (c - mu)));
    return to_service + to_full;
}

std::vector<Lemma> check_lemmas(const Link& link, const MimdParameters& law, double rate_mbit) {
    const Landmarks at = landmarks(link, law);
    const double c = at.interface_mbit, mu = link.service_mbit;
    const Case all{.link = link,
                   .law = law,
                   .at = at,
                   .loses = c > at.limit_mbit,
                   .k2_alpha = law.k2 * law.alpha,
                   .gain = c > mu ? c / (c - mu) : INFINITY};
    return {lemma1(all), lemma2(all), lemma3(all), lemma4(all, rate_mbit),
            lemma5(all), lemma6(all), lemma7(all), lemma8(all)};
}

}  // namespace lambda::model
