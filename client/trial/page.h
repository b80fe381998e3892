// A trial as a page: a table of its cases, sweeps as curves, what held each case back, and what the
// stripes carried over time. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/trial/results.h"
#include "common/report/page.h"

namespace lambda::client {

struct Skip {
    std::string leg;
    std::string why;
};

struct TrialStory {
    std::string command;
    std::string server;
    std::vector<CaseResult> cases;
    std::vector<Skip> skips;
    std::vector<std::string> beside;       // what other programs reached, in words
    std::map<std::string, double> before;  // medians of an earlier trial; empty: none
};

report::Page trial_page(const TrialStory& story);

// "2.05 Gbit/s, 1.2 times as before"; empty where it was not there before.
std::string compared(const CaseResult& result, const std::map<std::string, double>& before);

}  // namespace lambda::client
