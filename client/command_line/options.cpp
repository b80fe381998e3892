#include "client/command_line/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "client/command_line/number_option.h"
#include "client/command_line/sources.h"
#include "client/home/known_hosts.h"
#include "common/transfer/filter.h"
#include "config/option_values.h"
#include "config/schema.h"

namespace lambda::client {
namespace {

// Not from the table of settings: they are flags here, or paths relative to where the user stands.
bool has_option_of_its_own(const std::string& key) {
    return key == "io_uring" || key == "trust_new_host" || key == "ca";
}

std::string option_of(std::string key) {
    std::replace(key.begin(), key.end(), '_', '-');
    return "--" + key;
}

void add_settings(CLI::App& app, Arguments& into) {
    const config::Schema schema = config::client_schema(into.settings);
    for (const config::Key& key : schema.keys()) {
        if (has_option_of_its_own(key.name)) continue;
        const std::string option = option_of(key.name);
        app.add_option_function<std::string>(
               option,
               [read = key.read, option, allowed = key.allowed, name = key.name,
                &swept = into.trial.swept](const std::string& text) {
                   if (may_be_swept(name) && split_list(text).size() > 1) {
                       swept[name] = text;
                       return;
                   }
                   const auto wrong =
                       read({.key = option, .line = 0, .is_list = false, .items = {text}});
                   if (wrong) throw CLI::ValidationError(option, *wrong + "; allowed: " + allowed);
               },
               key.documentation)
            ->type_name(key.allowed);
    }
}

void add_path(CLI::App& app, const char* option, std::string& into, const char* about) {
    app.add_option_function<std::string>(
           option,
           [&into, option](const std::string& text) {
               std::error_code problem;
               into = std::filesystem::absolute(text, problem).string();
               if (problem)
                   throw CLI::ValidationError(
                       option, "cannot tell the working directory: " + problem.message());
           },
           about)
        ->type_name("FILE");
}

constexpr const char* kNoPattern = "a rule has no pattern";
constexpr std::size_t kMostOfRules = 1 << 20;  // with comments

void add_rule(CLI::App& app, const char* option, bool include, Arguments& into, const char* about) {
    app.add_option_function<std::string>(
           option,
           [&into, include, option](const std::string& text) {
               if (!transfer::add_rule(into.walk.rules, text, include))
                   throw CLI::ValidationError(option, kNoPattern);
           },
           about)
        ->type_name("PATTERN")
        ->trigger_on_parse();
}

// It can be read once: another list would be empty, without a word.
void take_stdin(const char* option, const std::string& file, Arguments& into) {
    if (file == "-" && std::exchange(into.stdin_taken, true))
        throw CLI::ValidationError(option, "another list comes by standard input already");
}

void add_rules_from(CLI::App& app, const char* option, bool include, Arguments& into,
                    const char* about) {
    app.add_option_function<std::string>(
           option,
           [&into, include, option](const std::string& file) {
               take_stdin(option, file, into);
               const auto content = read_whole_file(file, kMostOfRules);
               if (!content) throw CLI::ValidationError(option, content.error().sentence());
               if (!transfer::add_rules(into.walk.rules, *content, include))
                   throw CLI::ValidationError(option, file + ": " + kNoPattern);
           },
           about)
        ->type_name("FILE")
        ->trigger_on_parse();
}

// The order of rules is that of the options.
void add_tree_options(CLI::App& app, Arguments& into) {
    app.add_option_function<std::string>(
           "--links",
           [&into](const std::string& text) {
               if (text != "keep" && text != "follow" && text != "skip")
                   throw CLI::ValidationError("--links", "allowed: keep, follow, skip");
               into.walk.links = text == "keep"     ? ports::Links::keep
                                 : text == "follow" ? ports::Links::follow
                                                    : ports::Links::skip;
           },
           "Symbolic links within a tree: kept as they are, followed, or left out.")
        ->type_name("keep|follow|skip");
    app.add_flag("--archive", into.walk.archive,
                 "Keep owner, group, extended attributes and ACLs too, and set-user-id.");
    add_rule(app, "--exclude", false, into,
             "Leave out what matches, with rsync's pattern rules; the first match decides.");
    add_rule(app, "--include", true, into, "Do not leave out what matches.");
    add_rules_from(app, "--exclude-from", false, into, "Patterns to leave out, one a line.");
    add_rules_from(app, "--include-from", true, into, "Patterns not to leave out, one a line.");
    app.add_option_function<std::string>(
           "--from-file",
           [&into](const std::string& file) {
               take_stdin("--from-file", file, into);
               into.from_file = file;
           },
           "Further sources (of sync: the one), one a line, or each ended by a NUL; - is "
           "standard input. None is a success.")
        ->type_name("FILE");
}

void add_algorithm(CLI::App& app, Arguments& into) {
    app.add_option_function<std::string>(
           "--algorithm",
           [&into](const std::string& text) {
               const auto algorithm = verify::parse_algorithm(text);
               if (!algorithm)
                   throw CLI::ValidationError("--algorithm",
                                              "allowed: " + verify::algorithm_names());
               into.algorithm = *algorithm;
           },
           "What checksum takes; xxh3-128 is what transfers compare, of the size and the leaves of "
           "1 MiB (not what xxhsum prints). Against forgery sha256 and sha256-tree-1MiB alone "
           "hold.")
        ->type_name(verify::algorithm_names());
}

void add_receipt_options(CLI::App& app, Arguments& into) {
    add_path(app, "--receipt", into.receipt,
             "Write what was transferred into this file, a line for each file, "
             "signed by the server.");
    app.add_option_function<std::string>(
           "--digest",
           [&into](const std::string& text) {
               if (text != "xxh3" && text != "sha256")
                   throw CLI::ValidationError("--digest", "allowed: xxh3, sha256");
               into.sha256 = text == "sha256";
           },
           "What both ends compare of each file. xxh3 finds errors; sha256 beside it also holds "
           "against forgery, costs processor time, and is taken, as by --checksum, of what stands "
           "there already, too.")
        ->type_name("xxh3|sha256");
    app.add_option("--at", into.at,
                   "What stands for the DESTINATION of the transfer, here or at a server; else "
                   "where it left "
                   "them, if that server is known.")
        ->type_name("PLACE");
    app.add_option_function<std::string>(
           "--signer",
           [&into](const std::string& text) {
               if (!is_fingerprint(text))
                   throw CLI::ValidationError("--signer", "a key is SHA256: and 43 characters");
               into.signer = text;
           },
           "The key that must have signed; else the one that is known of the server.")
        ->type_name("SHA256:...");
    app.add_flag("--any-signer", into.any_signer, "A receipt will do whose signer is not known.");
}

void add_number(CLI::App& app, const char* option, std::optional<std::uint64_t>& into,
                const char* about) {
    app.add_option_function<std::string>(
           option, [&into, option](const std::string& text) { into = number_of(option, text); },
           about)
        ->type_name("NUMBER");
}

void add_copy_options(CLI::App& app, Arguments& into) {
    add_path(app, "--source-password-file", into.source_password_file,
             "Between servers: the source's password; else LAMBDA_FTP_SOURCE_PASSWORD, ~/.netrc or "
             "a prompt (but of replicate). "
             "--password-file is the destination's.");
    app.add_option_function<std::string>(
           "--connect",
           [&into](const std::string& text) {
               if (text != "source" && text != "destination")
                   throw CLI::ValidationError("--connect", "allowed: source, destination");
               into.connect = text == "source" ? Connect::source : Connect::destination;
           },
           "Between servers: the one that dials the other; else the destination, and the source "
           "where that "
           "cannot.")
        ->type_name("source|destination");
    app.add_flag("--detach", into.detach, "Between servers: leave it to them, and return at once.");
    add_number(app, "--wait", into.wait, "Follow this one to its end.");
    add_number(app, "--cancel", into.cancel, "End this one.");
}

void add_sync_options(CLI::App& app, Arguments& into) {
    transfer::SyncRecord& plan = into.plan;
    app.add_flag("-n,--dry-run", plan.dry_run, "Say what would be done, and touch nothing.");
    app.add_flag("--checksum", plan.checksum,
                 "Compare what stands there by digest, not by size and time.");
    app.add_flag("--delete", plan.erase,
                 "Delete what SOURCE does not have; what is left out by a pattern stays.");
    app.add_option_function<std::string>(
           "--max-delete",
           [&plan](const std::string& text) { plan.max_delete = number_of("--max-delete", text); },
           "Delete nothing at all where more than N would go.")
        ->type_name("N");
    app.add_flag("--update", plan.update, "Leave files that are newer at DESTINATION.");
    app.add_flag("--existing", plan.existing, "Make nothing that DESTINATION does not have.");
    app.add_flag("--ignore-existing", plan.ignore_existing,
                 "Leave what DESTINATION has, whatever it holds.");
}

}  // namespace

std::unique_ptr<CLI::App> make_options(Arguments& into) {
    auto app = std::make_unique<CLI::App>();
    app->set_help_flag();
    app->allow_extras();
    app->add_flag_callback(
        "-h,--help", [&into] { into.action = Action::help; },
        "Show this text; without a command: what there is.");
    app->add_flag_callback(
        "--version", [&into] { into.action = Action::version; }, "Show this program's version.");
    add_settings(*app, into);
    add_trial_options(*app, into.trial);
    app->add_flag("--trust-new-host", into.settings.trust_new_host,
                  "Accept and remember the key of a server that was never seen.");
    add_path(*app, "--ca", into.settings.ca,
             "Authority (PEM) that vouches for the server, in place of a remembered key.");
    add_path(
        *app, "--rate-file", into.rate_file,
        "Holds a --rate-limit, and is looked at each second: write to it to change the rate of "
        "a running transfer.");
    add_path(
        *app, "--password-file", into.password_file,
        "The password is its first line; else LAMBDA_FTP_PASSWORD, ~/.netrc or a prompt (but of "
        "replicate).");
    add_path(*app, "--certificate", into.certificate, "Log in by this certificate (PEM).");
    add_path(*app, "--key", into.key, "The key of --certificate (PEM).");
    add_path(*app, "--left-over", into.left_over,
             "Where the sources that were not done are written, each ended by a NUL.");
    add_tree_options(*app, into);
    add_receipt_options(*app, into);
    add_algorithm(*app, into);
    add_copy_options(*app, into);
    add_sync_options(*app, into);
    add_range_options(*app, into.range);
    app->add_flag_callback(
        "--no-uring", [&into] { into.settings.io_uring = false; }, "Read and write by threads.");
    app->add_flag_callback(
        "--background", [&into] { into.settings.congestion = "background"; },
        "Give way to all other traffic: --congestion background.");
    app->add_flag_callback(
        "-v,--verbose",
        [&into] {
            into.verbose = true;
            into.settings.log_level = "debug";
        },
        "Tell what held a transfer back, and --log-level debug.");
    app->add_flag("-q,--quiet", into.quiet, "No progress, notes or warnings; errors alone.");
    app->add_flag("--json", into.json, "Objects on stdout, one a line, the last a summary.");
    for (CLI::Option* option : app->get_options())
        if (option->get_type_size() > 0) option->check(config::wrong_with_value);
    return app;
}

std::vector<std::string> option_names() {
    Arguments arguments;
    std::vector<std::string> names;
    const auto app = make_options(arguments);
    for (const CLI::Option* option : app->get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

}  // namespace lambda::client
