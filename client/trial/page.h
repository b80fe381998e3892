// A trial as a page: a table of its cases, sweeps as curves, what held each case back, and what the
// stripes carried over time. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/trial/earlier.h"
#include "client/trial/results.h"
#include "common/report/page.h"

namespace lambda::client {

struct Skip {
    std::string leg;
    std::string why;
};

struct TrialStory {
    TrialOrigin origin;
    std::vector<CaseResult> cases;
    std::vector<Skip> skips;
    std::vector<std::string> beside;  // what other programs reached, in words
    std::optional<EarlierTrial> before;
};

report::Page trial_page(const TrialStory& story);

}  // namespace lambda::client
