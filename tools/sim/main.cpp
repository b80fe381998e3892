// lambda-sim: the production protocol in virtual time.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "common/report/page.h"
#include "config/option_values.h"
#include "tools/model/command.h"
#include "tools/sim/flows_command.h"
#include "tools/sim/run_command.h"
#include "tools/sim/swarm_command.h"

int main(int argc, char** argv) {
    CLI::App app(
        "lambda-sim runs the production sender, receiver and congestion laws in virtual "
        "time; a seed repeats a run to the byte.");
    app.set_version_flag("--version", "lambda-sim " LAMBDA_VERSION);
    app.require_subcommand(1);
    int exit_code = 0;
    const std::string command_line = lambda::report::command_line(argc, argv);
    lambda::simulation::add_flows_command(app, command_line, exit_code);
    lambda::simulation::add_run_commands(app, command_line, exit_code);
    lambda::simulation::add_swarm_command(app, exit_code);
    lambda::model::add_model_command(app, exit_code);
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        for (CLI::Option* option : command->get_options())
            if (option->get_type_size() > 0) option->check(lambda::config::wrong_with_value);
    }
    const auto checked = lambda::config::check_values({argv, static_cast<std::size_t>(argc)});
    if (!checked) {
        std::cerr << "lambda-sim: " << checked.error().sentence() << "\n";
        return 2;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? 0 : 2;
    }
    const bool written = std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (!written) std::cerr << "lambda-sim: cannot write to standard output\n";
    return written || exit_code != 0 ? exit_code : 1;
}
