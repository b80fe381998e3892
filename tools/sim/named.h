// Scenarios with a name: a file of YAML with what a figure or a table of the papers was made of,
// and what it must show.
//
//   title: Three flows share a bottleneck
//   source: 2003 paper, figure 3
//   capacity: 1Gbit/s                     any flag of `lambda-sim flows`, without its dashes
//   flow: [law=sabul2003,rtt=100ms]       likewise; a list
//   runs:                                 if it takes several: a name, and flags that differ; where
//     - low loss=1e-5                     a run has flows of its own, those alone
//   seeds: 5                              each run so often, and the worst counts; 1 if not said
//   expect: [jain >= 0.99]                tools/sim/expectation.h
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "tools/sim/expectation.h"
#include "tools/sim/flags.h"

namespace lambda::simulation {

struct NamedRun {
    std::string name;  // empty where it is the only one
    Flags flags;
    FlowsScenario scenario;
};

struct NamedScenario {
    std::string title, source;
    unsigned seeds = 1;
    std::vector<NamedRun> runs;  // at least one
    std::vector<Expectation> expectations;
};

constexpr std::size_t kMaxRuns = 64;
constexpr unsigned kMaxSeeds = 100;

// Fault::usage: "FILE:LINE: KEY: WHAT". `file` is for messages.
Result<NamedScenario> parse_named(std::string_view text, const std::string& file);

Result<NamedScenario> read_named(const std::string& file);

}  // namespace lambda::simulation
