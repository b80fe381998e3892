#include "client/trial/options.h"

#include "client/trial/against.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lambda::client {

void add_trial_options(CLI::App& app, TrialOptions& into) {
    app.add_option("--size", into.sizes,
                   "How much is moved in each run; a list, as 256MiB,1GiB; by default 1GiB.")
        ->type_name("SIZE,...");
    app.add_option("--legs", into.legs,
                   "Parts of names of legs, as memory-memory or put; all if nothing is said.")
        ->type_name("WORD,...");
    app.add_option_function<std::uint64_t>(
           "--repetitions",
           [&into](std::uint64_t number) {
               if (number < 1 || number > 1000)
                   throw CLI::ValidationError("--repetitions", "allowed: 1 to 1000");
               into.repetitions = static_cast<unsigned>(number);
           },
           "Runs of each case; by default 3.")
        ->type_name("1 to 1000");
    app.add_option(
           "--directory", into.directory,
           "Where files of that size are made here, and removed; by default the working directory.")
        ->type_name("DIRECTORY");
    app.add_option("--report", into.report, "A page with tables and charts, HTML.")
        ->type_name("FILE");
    app.add_option("--csv", into.csv, "A line for each run.")->type_name("FILE");
    app.add_option("--compare", into.compare,
                   "What an earlier one wrote with --json, to compare with.")
        ->type_name("FILE");
    app.add_option("--against", into.against,
                   "A program to measure beside, whose server runs at the other end.")
        ->check(CLI::Validator(
            [](const std::string& text) {
                return parse_against(text) ? std::string()
                                           : "no program that a trial knows: " + text;
            },
            {}))
        ->type_name("iperf3|globus-url-copy[:PORT]");
}

bool may_be_swept(const std::string& key) {
    return key == "stripes" || key == "congestion" || key == "payload" || key == "protection";
}

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string piece = text.substr(at, comma - at);
        at = comma + 1;
        const bool parameter = piece.find('=') != std::string::npos &&
                               piece.find(':') == std::string::npos && !pieces.empty();
        if (parameter) {
            pieces.back() += "," + piece;
        } else {
            pieces.push_back(piece);
        }
    }
    return pieces;
}

}  // namespace lambda::client
