// A trial set beside an earlier one, case by case (docs/trials.md). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/trial/results.h"

namespace lambda::client {

struct EarlierCase {
    double gbit_per_s = 0;             // the median
    std::optional<Interval> interval;  // of the mean; none of too few runs
};
struct EarlierTrial {
    std::string server;                        // empty: it does not tell
    std::map<std::string, EarlierCase> cases;  // by their keys
};

// What an earlier trial wrote with --json. Errors (Fault::usage): no trial at all.
Result<EarlierTrial> earlier_trial(const std::string& text);

struct Change {
    EarlierCase before;
    double times = 0;                // the new median by the old one
    std::optional<bool> told_apart;  // whether the intervals lie apart; none where one is missing

    // "before 2.050 Gbit/s (2.010 to 2.090), now 1.20 times that, ...".
    std::string sentence() const;
};

// None where the earlier trial has no such case.
std::optional<Change> change_since(const EarlierTrial& before, const CaseResult& now);

// What a program reads of it: `before_...`, all null where there is none.
void add_change(JsonObject& object, const std::optional<Change>& change);

// How many cases of the earlier trial are none of these.
std::size_t not_run_again(const EarlierTrial& before, const std::vector<CaseResult>& now);

}  // namespace lambda::client
