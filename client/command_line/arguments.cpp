#include "client/command_line/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "client/command_line/option_scope.h"
#include "client/command_line/options.h"
#include "common/transfer/filter.h"
#include "config/nearest_name.h"
#include "config/option_values.h"

namespace lambda::client {
namespace {

Error usage(std::string message, const Form* form = nullptr) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = std::string("see lambda-ftp ") + (form != nullptr ? form->name : "") +
                           (form != nullptr ? " --help" : "--help")};
}

// Of the options that were given, those of other commands.
Result<void> check_scopes(const CLI::App& app, const Form& form) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->count() == 0) continue;
        const OptionScope& scope = scope_of("--" + option->get_lnames().front());
        if (scope.kind == OptionKind::own && !scope.takes(form))
            return usage(std::string(scope.option) + " goes with " + commands_of(scope) +
                             ", not with " + form.name,
                         &form);
    }
    return {};
}

// Of two that exclude each other one would count for nothing.
Result<void> check_pairs(const CLI::App& app, const Form& form, const Arguments& into) {
    const auto given = [&](const char* option) { return app.get_option(option)->count() > 0; };
    if (given("--rate-file") && given("--rate-limit"))
        return usage("--rate-file takes the place of --rate-limit: give one of them", &form);
    if (given("--background") && given("--congestion"))
        return usage("--background is --congestion background: give one of them", &form);
    for (const char* option : {"--retry-for", "--left-over"}) {
        if (given("--stage") && given(option))
            return usage(
                std::string(option) + " is not for a --stage: who hands out the ranges tries again",
                &form);
    }
    if (into.action == Action::replicate && into.operands.size() > 1 && into.operands[1] != "run" &&
        given("--left-over"))
        return usage("--left-over is of a run, not of " + into.operands[1], &form);
    if (given("--certificate") && (given("--password-file") || given("--source-password-file")))
        return usage("--certificate logs in without a password: leave out its file", &form);
    if (!into.signer.empty() && into.any_signer)
        return usage("--signer and --any-signer exclude each other", &form);
    if (into.detach && !into.left_over.empty())
        return usage(
            "--left-over lists what was not done, which nobody knows yet when --detach "
            "returns",
            &form);
    if (into.wait && into.cancel) return usage("--wait and --cancel exclude each other", &form);
    return {};
}

// A sync deletes only what no pattern protects.
Result<void> settle_plan(const Form& form, Arguments& into) {
    transfer::SyncRecord& plan = into.plan;
    plan.whole = into.action == Action::sync;
    // Size and time are no digest: who may write there can give a forged file both.
    if (into.sha256) plan.checksum = true;
    if (plan.max_delete != UINT64_MAX && !plan.erase)
        return usage("--max-delete goes with --delete", &form);
    if (plan.dry_run && into.detach)
        return usage("--dry-run tells what would be done, so it does not go with --detach", &form);
    if (plan.erase) plan.rules = into.walk.rules;
    return {};
}

bool moves(Action action) {
    return action == Action::put || action == Action::get || action == Action::sync ||
           action == Action::copy;
}

// What somebody may have meant who wrote an option that there is not: one with the same beginning,
// or what other programs call so; else empty.
std::string meant_by(const std::string& word, const CLI::App& app, const Form* form) {
    if (word.starts_with("-P")) return "; a port is written lambda://user@HOST:PORT/path";
    const bool cluster = word.size() > 1 && word[1] != '-' &&
                         word.find_first_not_of("aruvztpogDHAXhP", 1) == word.npos;
    const bool tree = word == "--recursive" || word == "-R" || cluster;
    if (tree && form != nullptr && form->action == Action::rm)
        return "; rm takes no trees: `sync --delete` from an empty directory, then rmdir";
    if (tree && form != nullptr && moves(form->action))
        return "; trees need no option, and --archive keeps owners, extended attributes and ACLs";
    if (!word.starts_with("--")) return {};
    constexpr std::ptrdiff_t kAlike = 3;
    std::string nearest;
    std::ptrdiff_t most = 2 + kAlike - 1;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            const std::string known = "--" + name;
            const auto apart = std::mismatch(word.begin(), word.end(), known.begin(), known.end());
            if (apart.first - word.begin() <= most) continue;
            most = apart.first - word.begin();
            nearest = known;
        }
    }
    if (nearest.empty()) {
        std::vector<std::string> all;
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) all.push_back(name);
        }
        nearest = config::nearest_name(word.substr(2), all);
        if (!nearest.empty()) nearest = "--" + nearest;
    }
    return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

Error no_command(const std::string& word) {
    std::vector<std::string> all;
    for (const Form& form : forms()) all.emplace_back(form.name);
    const std::string nearest = config::nearest_name(word, all);
    return usage("there is no command " + word +
                 (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

const Form* named_first(const std::vector<std::string>& words) {
    return words.empty() ? nullptr : find_form(words.front());
}

Result<void> settle_help(Arguments& into) {
    if (into.action != Action::help || into.operands.empty()) return {};
    const Form* const form = find_form(into.operands.front());
    if (form == nullptr) return no_command(into.operands.front());
    into.help_of = form->action;
    return {};
}

// What CLI11 leaves over: the action and its operands, and options that nobody knows.
Result<void> take_operands(const CLI::App& app, std::vector<std::string> behind_dashes,
                           Arguments& into) {
    const std::vector<std::string> left = app.remaining();
    for (const std::string& word : left) {
        if (word.size() > 1 && word[0] == '-') {
            return usage("there is no option " + word + meant_by(word, app, named_first(left)) +
                             " (a name may follow after --)",
                         named_first(left));
        }
    }
    if (left.empty()) return usage("say what to do: put, get, ls, ...");
    const Form* const form = named_first(left);
    if (form == nullptr) return no_command(left.front());
    into.action = form->action;
    into.operands.assign(left.begin() + 1, left.end());
    into.operands.insert(into.operands.end(), behind_dashes.begin(), behind_dashes.end());
    const bool transfers =
        into.action == Action::put || into.action == Action::get || into.action == Action::sync;
    const std::size_t least = transfers && !into.from_file.empty() ? 1 : form->least;
    if (into.operands.size() < least || into.operands.size() > form->most) {
        return usage("it is: " + form->usage(), form);
    }
    if (auto checked = check_scopes(app, *form); !checked) return checked;
    if (auto settled = settle_help(into); !settled) return settled;
    if (into.action == Action::completion && !into.operands.empty() &&
        into.operands.front() != "bash")
        return usage("there is no completion script for " + into.operands.front(), form);
    std::size_t rule_bytes = 0;
    for (const transfer::Rule& rule : into.walk.rules) rule_bytes += rule.pattern.size();
    if (into.walk.rules.size() > transfer::kMaxRules || rule_bytes > transfer::kMaxRuleBytes)
        return usage("there are more than 4096 patterns, or more than 256 KiB of them", form);
    if (auto checked = check_pairs(app, *form, into); !checked) return checked;
    if (auto settled = settle_plan(*form, into); !settled) return settled;
    const std::size_t sources = into.from_file.empty() ? into.operands.size() - 1 : 0;
    if (auto checked = check_range_options(into.range, sources); !checked) return checked;
    if (!into.receipt.empty() && into.plan.dry_run)
        return usage("a dry run moves nothing that a receipt could tell of", form);
    if (!into.receipt.empty() && into.range.any())
        return usage("a receipt tells of whole files, not of ranges", form);
    if (into.action != Action::trial && !into.trial.swept.empty()) {
        return usage("--" + into.trial.swept.begin()->first + " takes a list for trial alone",
                     form);
    }
    if (into.certificate.empty() != into.key.empty()) {
        return usage("--certificate and --key go together", form);
    }
    return {};
}

}  // namespace

Result<Arguments> parse_arguments(std::span<const char* const> arguments,
                                  const config::ClientSettings& defaults) {
    Arguments parsed;
    parsed.settings = defaults;
    parsed.words.assign(arguments.begin(), arguments.end());
    if (auto checked = config::check_values(arguments); !checked) return checked.error();
    const auto dashes = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
    std::vector<std::string> before(arguments.begin(), dashes);
    std::vector<std::string> behind(dashes == arguments.end() ? dashes : dashes + 1,
                                    arguments.end());
    // "++" alone would end a subcommand for CLI11; as a name it is the same as "./++".
    std::replace(before.begin(), before.end(), std::string("++"), std::string("./++"));
    std::reverse(before.begin(), before.end());  // as CLI11 takes a vector
    const auto app = make_options(parsed);
    try {
        app->parse(std::move(before));
    } catch (const CLI::Error& error) {
        const auto form = std::find_if(arguments.begin(), dashes,
                                       [](const char* word) { return find_form(word) != nullptr; });
        return usage(error.what(), form != dashes ? find_form(*form) : nullptr);
    }
    if (app->count("--version") > 0) return parsed;
    if (app->count("--help") > 0) {
        const Form* const form = named_first(app->remaining());
        parsed.help_of = form != nullptr ? form->action : Action::help;
        return parsed;
    }
    if (auto taken = take_operands(*app, std::move(behind), parsed); !taken) return taken.error();
    return parsed;
}

Result<config::ClientSettings> settings_over(const config::ClientSettings& base,
                                             const Arguments& arguments) {
    std::vector<const char*> words;
    for (const std::string& word : arguments.words) words.push_back(word.c_str());
    const auto parsed = parse_arguments(words, base);
    if (!parsed) return parsed.error();
    return parsed->settings;
}

bool wants_json(std::span<const char* const> arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
    return std::find(arguments.begin(), end, std::string_view("--json")) != end;
}

}  // namespace lambda::client
