// The flags of `lambda-sim flows` as they are written, on the command line or in the file of a
// named scenario, and the scenario that they make. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "tools/sim/flows.h"

namespace lambda::simulation {

struct Flags {
    std::string capacity = "1Gbit/s", queue = "1BDP", duration = "60s";
    std::string jitter = "0s", lateness = "0s", noise = "0s", feedback_jitter = "0s";
    std::string pauses;  // "500ms,50ms"
    std::string from;    // empty: the second half
    double loss = 0, burst = 1, drift_ppm = 0, feedback_loss = 0;
    std::uint64_t seed = 1;
    std::vector<std::string> flows, changes;

    // `key` as on the command line, without its dashes; `flow` and `at` add one.
    Result<void> set(const std::string& key, const std::string& value);
};

// Fault::usage; the message begins with the flag.
Result<FlowsScenario> scenario_of(const Flags& flags);

// The whole of `text` as a finite number.
Result<double> parse_number(const std::string& text);

}  // namespace lambda::simulation
