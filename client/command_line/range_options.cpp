#include "client/command_line/range_options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "client/command_line/number_option.h"
#include "common/session/facts.h"

namespace lambda::client {
namespace {

Error usage(std::string message) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = "see docs/ranges.md"};
}

}  // namespace

void add_range_options(CLI::App& app, RangeOptions& into) {
    app.add_option_function<std::string>(
           "--range",
           [&into](const std::string& text) {
               into.bytes = parse_range(text);
               if (!into.bytes)
                   throw CLI::ValidationError("--range", "it is FIRST-LAST or FIRST-, in bytes");
           },
           "Of the one source these bytes alone, the last with them.")
        ->type_name("FIRST-[LAST]");
    app.add_option_function<std::string>(
           "--stage",
           [&into](const std::string& text) {
               if (!is_stage_name(text))
                   throw CLI::ValidationError("--stage",
                                              "up to 64 letters, digits, '.', '_' and '-'");
               into.stage = text;
           },
           "Let the --range wait for others of the same NAME, until --finish.")
        ->type_name("NAME");
    app.add_option_function<std::string>(
           "--fence",
           [&into](const std::string& text) {
               into.fence = number_of("--fence", text);
               if (into.fence == 0) throw CLI::ValidationError("--fence", "it is at least 1");
           },
           "Of a --range for a --stage: a larger one ends the transfer of an older one. Else "
           "above all before.")
        ->type_name("NUMBER");
    app.add_flag("--finish", into.finish, "Make the ranges of a --stage the file.");
    app.add_flag("--discard", into.discard, "Forget the ranges of a --stage.");
}

std::optional<Range> parse_range(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto first = session::parse_number(text.substr(0, dash));
    if (!first || *first > kMostFileBytes) return std::nullopt;
    if (dash + 1 == text.size()) return Range{*first, kToTheEnd};
    const auto last = session::parse_number(text.substr(dash + 1));
    if (!last || *last < *first || *last >= kMostFileBytes) return std::nullopt;
    return Range{*first, *last + 1};
}

Result<void> check_range_options(const RangeOptions& options, std::size_t sources) {
    if (!options.any()) return {};
    if (sources != 1) return usage("a range is of one source");
    const int orders =
        (options.bytes ? 1 : 0) + (options.finish ? 1 : 0) + (options.discard ? 1 : 0);
    if (options.stage.empty()) {
        if (options.finish || options.discard || options.fence > 0)
            return usage("--finish, --discard and --fence go with --stage");
        return {};
    }
    if (orders != 1) return usage("a --stage takes one of --range, --finish and --discard");
    if (options.fence > 0 && !options.bytes) return usage("--fence goes with --range");
    return {};
}

}  // namespace lambda::client
