// A trial's results for programs: objects of JSON and lines of CSV (docs/trials.md). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/report/text.h"
#include "client/trial/measures.h"
#include "client/trial/plan.h"

namespace lambda::client {

struct CaseResult {
    TrialCase what;
    std::vector<Measures> runs;  // one at least

    std::vector<double> rates() const;  // Gbit/s of each run
    double gbit_per_s() const { return median(rates()); }
    // The run whose rate is nearest to the median: the case's verdict is its.
    const Measures& typical() const;
    // Of a leg without a network none.
    std::optional<verdict::Verdict> verdict() const;
    // In words; or why there is none.
    std::string interval() const;
    // Half of it, by the median; 0 where there is none.
    double uncertainty() const;
};

// When and where a trial ran, and how it was asked for.
struct TrialOrigin {
    std::string time;  // of its begin, UTC: "2026-11-23T14:00:00Z"
    std::string client, server;
    std::string version;  // of the client
    std::string command;

    // As one line.
    std::string sentence() const;
};

JsonObject origin_json(const TrialOrigin& origin);
JsonObject run_json(const TrialCase& what, const Measures& run, unsigned repetition);
JsonObject case_json(const CaseResult& result);

std::string csv_head();
std::string csv_line(const TrialCase& what, const Measures& run, unsigned repetition);

}  // namespace lambda::client
