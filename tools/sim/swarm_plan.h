// What one seed of the swarm asks for: the terms, the paths, the files, and what goes wrong when.
// Drawn from the seed alone. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/sim/run.h"

namespace lambda::simulation {

// What is wrong with a file, which must then fail, alone, for this reason.
enum class FileFault { none, missing, read, shrinks, changes, create, write, commit };

struct PlannedFile {
    std::string path, name;
    MemoryFile content;
    FileFault fault = FileFault::none;
};

enum class Mishap {
    outage_forward,
    outage_backward,
    outage_both,
    source_stalls,
    target_stalls,
    target_full,  // for good: what is not written by then fails
    feedback_cut,
    feedback_cut_all,
    feedback_stalled,
    feedback_refused,
    path_narrows,
    first_hop_narrows,
};

struct PlannedMishap {
    Mishap what{};
    Duration at{};      // from the beginning
    Duration length{};  // of what ends
    std::uint16_t stripe = 0;
};

// One end stops for good.
struct Crash {
    bool sender = false;
    bool silent = false;  // the host is gone, too: nobody closes its connections
    double share = 0;     // once so much of all bytes was written at the target
    Duration at{};        // so long after that; where there is no share, from the beginning
};

struct SwarmPlan {
    std::uint64_t seed = 0;
    Options options;
    std::vector<PlannedFile> files;
    transfer::Target target;
    Duration source_latency{}, target_latency{};
    bool source_copies = false;
    bool overflows = false;
    double busy = 0;
    std::vector<PlannedMishap> mishaps;
    std::optional<Crash> crash;
};

SwarmPlan draw_plan(std::uint64_t seed);

const char* to_string(FileFault fault);
const char* to_string(Mishap mishap);

// For a person, on a few lines.
std::string describe(const SwarmPlan& plan);

}  // namespace lambda::simulation
