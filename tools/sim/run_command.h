// `lambda-sim list` and `lambda-sim run NAME|FILE`: named scenarios and whether they show what they
// must.
#pragma once

namespace CLI {
class App;
}

namespace lambda::simulation {

// The callbacks set `exit_code`: 1 where an expectation fails, 2 where the file is not right.
void add_run_commands(CLI::App& app, int& exit_code);

}  // namespace lambda::simulation
