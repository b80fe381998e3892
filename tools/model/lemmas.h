// The eight lemmas of the 2004 paper as checks of one parameter set on one link, in the form that
// holds: several do not hold as printed (docs/congestion.md). Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/model/recurrence.h"

namespace lambda::model {

// The gaps and rates that the lemmas speak of.
struct Landmarks {
    double interface_mbit;  // C
    double limit_mbit;      // μ / (1 - α): where ρ = α
    double service_gap_us;  // δ_μ: the gap at μ
    double limit_gap_us;    // δ*: the gap at μ / (1 - α)
    double most_gap_us;     // δ_max = δ* (1 + k1 (1 - μ/C - α)) + c: after one decrease
    double least_mbit;      // λ_min: the rate at δ_max
    double lasting_gap_us;  // c / (k1 α): where (1) alone would end
    double overshoot;       // k2 (1 - α - μ/C): above 1 the approach to δ* overshoots
};
Landmarks landmarks(const Link& link, const sabul::MimdParameters& law);

// Bounds of lemma 4, in rounds: of an increase from `rate_mbit` until the queue is full (n + l).
double increase_bound(const Link& link, const sabul::MimdParameters& law, double rate_mbit);

struct Value {
    std::string name;
    double value;
    std::string unit;
};
struct Lemma {
    int number;
    std::string claim;  // what follows where it holds
    bool holds;         // the condition, as corrected
    std::string why;    // the condition with its numbers
    bool as_printed;    // what the printed condition would say
    std::vector<Value> values;
};
std::vector<Lemma> check_lemmas(const Link& link, const sabul::MimdParameters& law,
                                double rate_mbit);

}  // namespace lambda::model
