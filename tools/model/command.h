// `lambda-sim model`: what the 2004 model says of a parameter set, to a person or as JSON.
#pragma once

namespace CLI {
class App;
}

namespace lambda::model {

// Adds the subcommand; it runs when it was parsed and sets `exit_code`.
void add_model_command(CLI::App& app, int& exit_code);

}  // namespace lambda::model
