// `lambda-sim swarm`: many seeds, what was injected, and which of them did not hold.
#pragma once

namespace CLI {
class App;
}

namespace lambda::simulation {

// Adds the subcommand; it runs when it was parsed and sets `exit_code`.
void add_swarm_command(CLI::App& app, int& exit_code);

}  // namespace lambda::simulation
