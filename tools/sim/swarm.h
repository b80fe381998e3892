// The swarm: a seed draws a transfer and what goes wrong with it, the two production ends run it in
// virtual time, and everything that must hold is checked. Pure; seeds may run on several threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/sim/swarm_plant.h"

namespace lambda::simulation {

struct SwarmResult {
    std::vector<std::string> wrong;               // what did not hold; empty: all did
    std::map<std::string, std::uint64_t> faults;  // how many of each kind were injected
    std::string story;                            // what was drawn and what became of it
};

SwarmResult run_swarm(std::uint64_t seed, std::optional<Plant> plant);

}  // namespace lambda::simulation
