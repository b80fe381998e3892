#include "tools/sim/flows_command.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "common/report/outputs.h"
#include "config/option_values.h"
#include "tools/sim/flags.h"
#include "tools/sim/flows.h"
#include "tools/sim/report.h"
#include "tools/sim/told.h"

namespace lambda::simulation {
namespace {

struct Command {
    Flags flags;
    std::string csv, report;
    std::string line;  // the whole command line
    bool json = false;
};

int run(const Command& command) {
    const auto scenario = scenario_of(command.flags);
    if (!scenario) {
        std::cerr << "lambda-sim: " << scenario.error().sentence() << "\n";
        return 2;
    }
    if (const auto apart =
            report::check_apart({{"--csv", command.csv}, {"--report", command.report}});
        !apart) {
        std::cerr << "lambda-sim: " << apart.error().sentence() << "\n";
        return 2;
    }
    auto report = report::File::make(command.report);
    if (!report) {
        std::cerr << "lambda-sim: " << report.error().sentence() << "\n";
        return 1;
    }
    std::ofstream csv;
    if (!command.csv.empty()) csv.open(command.csv);
    const auto csv_failed = [&] {
        if (!csv) std::cerr << "lambda-sim: cannot write " << command.csv << "\n";
        return !csv;
    };
    if (csv_failed()) return 1;
    const FlowsResult result = run_flows(*scenario);
    if (csv.is_open()) write_csv(csv, result, "");
    if (report->wanted()) {
        const auto written = report->write({.title = "A run of lambda-sim",
                                            .text = {},
                                            .command = command.line,
                                            .sections = {section_of("", *scenario, result)}});
        if (!written) {
            std::cerr << "lambda-sim: " << written.error().sentence() << "\n";
            return 1;
        }
    }
    if (command.json) {
        std::cout << json_of(result) << "\n";
    } else {
        print(result);
    }
    csv.flush();
    return csv_failed() ? 1 : 0;
}

}  // namespace

void add_flows_command(CLI::App& app, const std::string& command_line, int& exit_code) {
    const auto made = std::make_shared<Command>();
    made->line = command_line;
    Flags* flags = &made->flags;
    CLI::App* command = app.add_subcommand("flows", "transfers that share one bottleneck");
    command->add_option("--capacity", flags->capacity, "of the bottleneck (1Gbit/s)");
    command->add_option("--queue", flags->queue, "drop-tail: bytes, or e.g. 0.5BDP (1BDP)");
    command->add_option("--duration", flags->duration, "of the run, in virtual time (60s)");
    command->add_option("--loss", flags->loss, "share of packets lost at random")
        ->check(CLI::Range(0.0, 0.99).description(""))
        ->type_name("0..0.99");
    command->add_option("--burst", flags->burst, "mean length of a run of losses")
        ->check(CLI::Range(1.0, 1000.0).description(""))
        ->type_name("1..1000");
    command->add_option("--jitter", flags->jitter, "of each packet, uniform, order kept");
    command->add_option("--lateness", flags->lateness, "of the receivers' wake-ups, uniform");
    command->add_option("--noise", flags->noise, "of the receivers' times of arrival, uniform");
    command->add_option("--drift", flags->drift_ppm, "of the receivers' clocks, ppm")
        ->check(CLI::Range(-1000.0, 1000.0).description(""))
        ->type_name("-1000..1000");
    command->add_option("--feedback-jitter", flags->feedback_jitter, "uniform, order kept");
    command
        ->add_option("--feedback-loss", flags->feedback_loss,
                     "share of feedback records that TCP sends again")
        ->check(CLI::Range(0.0, 0.99).description(""))
        ->type_name("0..0.99");
    command->add_option("--pauses", flags->pauses,
                        "EVERY,LONGEST: the path stands still, in the mean after EVERY");
    command->add_option("--from", flags->from, "measure from here; else the second half");
    command->add_option("--seed", flags->seed, "of all that is drawn (1)")
        ->check(config::wrong_with_number)
        ->type_name("NUMBER");
    command
        ->add_option(
            "--flow", flags->flows,
            "law=NAME,rtt=..,initial=..,known=..,highest=..,stripes=N,syn=..,start=..,access=..,"
            "size=..,count=N")
        ->required()
        ->allow_extra_args(false);
    command->add_option("--at", flags->changes, "TIME,capacity=..,rtt=..,loss=..")
        ->allow_extra_args(false);
    command->add_option("--csv", made->csv, "the series, by bins of 100 ms");
    command->add_option("--report", made->report, "a page with tables and charts, HTML");
    command->add_flag("--json", made->json, "measures as one line of JSON");
    command->callback([made, &exit_code] { exit_code = run(*made); });
}

}  // namespace lambda::simulation
