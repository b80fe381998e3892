// `lambda-sim flows`: a scenario from its flags, and the measures on stdout.
#pragma once

namespace CLI {
class App;
}

namespace lambda::simulation {

// Adds the subcommand; it runs when it was parsed and sets `exit_code`.
void add_flows_command(CLI::App& app, int& exit_code);

}  // namespace lambda::simulation
