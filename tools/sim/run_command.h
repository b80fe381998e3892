// `lambda-sim list` and `lambda-sim run NAME|FILE`: named scenarios and whether they show what they
// must.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lambda::simulation {

// The callbacks set `exit_code`: 1 where an expectation fails, 2 where the file is not right.
// `command_line` is for reports.
void add_run_commands(CLI::App& app, const std::string& command_line, int& exit_code);

}  // namespace lambda::simulation
