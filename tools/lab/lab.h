// One run of the lab: hosts, path and commands, from beginning to end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/time.h"
#include "tools/lab/counters.h"
#include "tools/lab/flow_table.h"
#include "tools/lab/household.h"
#include "tools/lab/path.h"
#include "tools/lab/series.h"
#include "tools/lab/tun.h"

namespace lambda::lab {

struct Plan {
    PathSpec path;
    Household household;  // `environment` is added to
    std::uint64_t seed = 0;
    std::uint64_t memory = GiB;  // for packets on the way
    // While packets come, the lab looks this often and not at each: the price of a look, a few
    // microseconds, is shared, and what arrives together is written together. A packet is read and
    // delivered so much late at most; the path's own times do not depend on it.
    Duration turn = std::chrono::microseconds(100);
    Offload offload = Offload::tcp_and_udp;
    std::string series;  // a CSV file (series.h); empty: none
    bool keep_readings = false;
};

struct Outcome {
    int exit_code = 0;
    Counters counters;
    std::vector<Reading> readings;                    // over time, where they were to be kept
    std::vector<Flow> forward_flows, backward_flows;  // the one with number 1 is the first
    Result<void> series;                              // whether its file could be written
};

// Signals SIGINT, SIGTERM and SIGHUP of this process go on to the main command. Errors: what the
// machine lacks (Fault::unsupported), a path that is too large for the memory (Fault::usage).
Result<Outcome> run_lab(Plan plan);

}  // namespace lambda::lab
