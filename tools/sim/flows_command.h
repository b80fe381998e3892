// `lambda-sim flows`: a scenario from its flags, and the measures on stdout.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lambda::simulation {

// Adds the subcommand; it runs when it was parsed and sets `exit_code`. `command_line` is for
// reports.
void add_flows_command(CLI::App& app, const std::string& command_line, int& exit_code);

}  // namespace lambda::simulation
