// What a trial says of its cases together, when all have run: what to change, which to choose, and
// whether its figures are sure enough (docs/trials.md). Pure.
#pragma once

#include <string>
#include <vector>

#include "client/trial/results.h"

namespace lambda::client {

// A sentence for each remedy that verdicts of cases name, that of most cases first.
std::vector<std::string> advice_on_causes(const std::vector<CaseResult>& cases);

// A sentence for each leg that has several cases: the fastest, and which are not told apart from it
// by their intervals.
std::vector<std::string> advice_on_choice(const std::vector<CaseResult>& cases);

// What to do where the intervals of some cases are wider than kMostUncertainty; else empty.
constexpr double kMostUncertainty = 0.1;
std::string advice_on_intervals(const std::vector<CaseResult>& cases);

// All of these.
std::vector<std::string> advice(const std::vector<CaseResult>& cases);

}  // namespace lambda::client
