#include "client/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>

#include "client/known_hosts.h"
#include "client/sources.h"
#include "common/transfer/filter.h"
#include "config/schema.h"

namespace lambda::client {
namespace {

struct Form {
    Action action;
    const char* name;
    std::size_t least;
    std::size_t most;
    const char* operands;
    const char* about;
};

constexpr std::size_t kAny = SIZE_MAX;

constexpr Form kForms[] = {
    {Action::put, "put", 2, kAny, "SOURCE... DESTINATION", "local files to a server"},
    {Action::get, "get", 2, kAny, "SOURCE... DESTINATION", "a server's files to here"},
    {Action::copy, "copy", 2, 2, "SOURCE DESTINATION", "from server to server"},
    {Action::copies, "copies", 1, 1, "PLACE", "the copies that a server conducts"},
    {Action::sync, "sync", 2, 2, "SOURCE DESTINATION", "make DESTINATION like SOURCE"},
    {Action::trial, "trial", 1, 1, "PLACE",
     "what the path to a server carries, and what holds it back"},
    {Action::ls, "ls", 1, 1, "PLACE", "list a directory, in its own order"},
    {Action::stat, "stat", 1, kAny, "PLACE...", "type, size, time and mode"},
    {Action::mkdir, "mkdir", 1, kAny, "PLACE...", "make directories"},
    {Action::rm, "rm", 1, kAny, "PLACE...", "remove files"},
    {Action::rmdir, "rmdir", 1, kAny, "PLACE...", "remove empty directories"},
    {Action::mv, "mv", 2, 2, "PLACE PLACE", "rename on one server"},
    {Action::checksum, "checksum", 1, kAny, "PLACE...", "checksums of files, here or there"},
    {Action::audit, "audit", 1, 1, "RECEIPT", "whether files still are what a receipt says"},
    {Action::replicate, "replicate", 1, 2, "JOB.yaml [COMMAND]",
     "a job: run (the default), plan, status, pause, resume, cancel, history, watch"},
    {Action::ping, "ping", 1, 1, "PLACE", "round trips of a session"},
    {Action::version, "version", 0, 0, "", "this program's version"},
    {Action::completion, "completion", 0, 1, "[bash]", "a completion script"},
    {Action::help, "help", 0, kAny, "", "this text"},
};

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
           [&into](const std::string& text) { into = std::filesystem::absolute(text).string(); },
           about)
        ->type_name("FILE");
}

void add_rule(CLI::App& app, const char* option, bool include, Arguments& into, const char* about) {
    app.add_option_function<std::string>(
           option,
           [&into, include](const std::string& text) {
               into.walk.rules.push_back(transfer::rule_of(text, include));
           },
           about)
        ->type_name("PATTERN")
        ->trigger_on_parse();
}

void add_rules_from(CLI::App& app, const char* option, bool include, Arguments& into,
                    const char* about) {
    app.add_option_function<std::string>(
           option,
           [&into, include, option](const std::string& file) {
               const auto content = read_whole_file(file);
               if (!content) throw CLI::ValidationError(option, content.error().sentence());
               for (transfer::Rule& rule : transfer::rules_of(*content, include))
                   into.walk.rules.push_back(std::move(rule));
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
    app.add_option("--from-file", into.from_file,
                   "Further sources, one a line, or each ended by a NUL; - is standard input.")
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
           "What checksum takes; xxh3-128 is what transfers compare. Against forgery sha256 and "
           "sha256-tree-1MiB alone hold.")
        ->type_name(verify::algorithm_names());
}

void add_receipt_options(CLI::App& app, Arguments& into) {
    add_path(app, "--receipt", into.receipt,
             "put, get, sync: write what was transferred into this file, a line for each file, "
             "signed by the server.");
    app.add_option_function<std::string>(
           "--digest",
           [&into](const std::string& text) {
               if (text != "xxh3" && text != "sha256")
                   throw CLI::ValidationError("--digest", "allowed: xxh3, sha256");
               into.sha256 = text == "sha256";
           },
           "put, get, sync: what both ends compare of each file. xxh3 finds errors; sha256 beside "
           "it also holds against forgery, costs processor time, and is taken, as by --checksum, "
           "of what stands there already, too.")
        ->type_name("xxh3|sha256");
    app.add_option("--at", into.at,
                   "audit: where the files are, here or at a server; else where the transfer left "
                   "them.")
        ->type_name("PLACE");
    app.add_option_function<std::string>(
           "--signer",
           [&into](const std::string& text) {
               if (!is_fingerprint(text))
                   throw CLI::ValidationError("--signer", "a key is SHA256: and 43 characters");
               into.signer = text;
           },
           "audit: the key that must have signed; else the one that is known of the server.")
        ->type_name("SHA256:...");
    app.add_flag("--any-signer", into.any_signer,
                 "audit: a receipt will do whose signer is not known.");
}

void add_number(CLI::App& app, const char* option, std::optional<std::uint64_t>& into,
                const char* about) {
    app.add_option_function<std::uint64_t>(
           option, [&into](std::uint64_t number) { into = number; }, about)
        ->type_name("NUMBER");
}

void add_copy_options(CLI::App& app, Arguments& into) {
    add_path(app, "--source-password-file", into.source_password_file,
             "Between servers: the source's password; else LAMBDA_FTP_SOURCE_PASSWORD, ~/.netrc or "
             "a prompt. "
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
    add_number(app, "--wait", into.wait, "copies: follow this one to its end.");
    add_number(app, "--cancel", into.cancel, "copies: end this one.");
}

void add_sync_options(CLI::App& app, Arguments& into) {
    transfer::SyncRecord& plan = into.plan;
    app.add_flag("-n,--dry-run", plan.dry_run, "sync: say what would be done, and touch nothing.");
    app.add_flag("--checksum", plan.checksum,
                 "sync, put, get: compare what stands there by digest, not by size and time.");
    app.add_flag("--delete", plan.erase,
                 "sync: delete what SOURCE does not have; what is left out by a pattern stays.");
    app.add_option_function<std::uint64_t>(
           "--max-delete", [&plan](std::uint64_t most) { plan.max_delete = most; },
           "sync: delete nothing at all where more than N would go.")
        ->type_name("N");
    app.add_flag("--update", plan.update, "sync: leave files that are newer at DESTINATION.");
    app.add_flag("--existing", plan.existing, "sync: make nothing that DESTINATION does not have.");
    app.add_flag("--ignore-existing", plan.ignore_existing,
                 "sync: leave what DESTINATION has, whatever it holds.");
}

std::unique_ptr<CLI::App> make_app(Arguments& into) {
    auto app = std::make_unique<CLI::App>();
    app->set_help_flag();
    app->allow_extras();
    app->add_flag_callback(
        "-h,--help", [&into] { into.action = Action::help; }, "Show this text.");
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
    add_path(*app, "--password-file", into.password_file,
             "The password is its first line; else LAMBDA_FTP_PASSWORD, ~/.netrc or a prompt.");
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
    app->add_flag("-q,--quiet", into.quiet, "No progress, no notes; errors alone.");
    app->add_flag("--json", into.json, "Objects on stdout, one a line, the last a summary.");
    return app;
}

Error usage(std::string message) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::local,
                 .remedy = "see lambda-ftp --help"};
}

// A sync deletes only what no pattern protects.
Result<void> settle_plan(Arguments& into) {
    transfer::SyncRecord& plan = into.plan;
    plan.whole = into.action == Action::sync;
    // Size and time are no digest: who may write there can give a forged file both.
    if (into.sha256) plan.checksum = true;
    const bool some = plan.erase || plan.dry_run || plan.update || plan.existing ||
                      plan.ignore_existing || plan.max_delete != UINT64_MAX;
    if (some && !plan.whole)
        return usage(
            "--delete, --max-delete, --dry-run, --update, --existing and "
            "--ignore-existing go with sync");
    if (plan.max_delete != UINT64_MAX && !plan.erase)
        return usage("--max-delete goes with --delete");
    if (plan.dry_run && into.detach)
        return usage("--dry-run tells what would be done, so it does not go with --detach");
    if (plan.erase) plan.rules = into.walk.rules;
    return {};
}

// What CLI11 leaves over: the action and its operands, and options that nobody knows.
Result<void> take_operands(std::vector<std::string> left, std::vector<std::string> behind_dashes,
                           Arguments& into) {
    for (const std::string& word : left) {
        if (word.size() > 1 && word[0] == '-') {
            return usage("there is no option " + word + " (a name may follow after --)");
        }
    }
    if (left.empty()) return usage("say what to do: put, get, ls, ...");
    const auto form = std::find_if(std::begin(kForms), std::end(kForms),
                                   [&](const Form& f) { return left.front() == f.name; });
    if (form == std::end(kForms)) return usage("there is no command " + left.front());
    into.action = form->action;
    into.operands.assign(left.begin() + 1, left.end());
    into.operands.insert(into.operands.end(), behind_dashes.begin(), behind_dashes.end());
    const bool transfers =
        into.action == Action::put || into.action == Action::get || into.action == Action::sync;
    const std::size_t least = transfers && !into.from_file.empty() ? 1 : form->least;
    if (into.operands.size() < least || into.operands.size() > form->most) {
        return usage(std::string("it is: lambda-ftp ") + form->name + " " + form->operands);
    }
    std::size_t rule_bytes = 0;
    for (const transfer::Rule& rule : into.walk.rules) rule_bytes += rule.pattern.size();
    if (into.walk.rules.size() > transfer::kMaxRules || rule_bytes > transfer::kMaxRuleBytes)
        return usage("there are more than 4096 patterns, or more than 256 KiB of them");
    if (!into.rate_file.empty() && !transfers) return usage("--rate-file is for put, get and sync");
    if (auto settled = settle_plan(into); !settled) return settled;
    if (into.range.any() && into.action != Action::put && into.action != Action::get)
        return usage("--range, --stage, --finish and --discard go with put and get");
    const std::size_t sources = into.from_file.empty() ? into.operands.size() - 1 : 0;
    if (auto checked = check_range_options(into.range, sources); !checked) return checked;
    if ((!into.receipt.empty() || into.sha256) && !transfers)
        return usage("--receipt and --digest go with put, get and sync");
    if (!into.receipt.empty() && into.plan.dry_run)
        return usage("a dry run moves nothing that a receipt could tell of");
    const bool audits = !into.at.empty() || !into.signer.empty() || into.any_signer;
    if (audits && into.action != Action::audit)
        return usage("--at, --signer and --any-signer go with audit");
    if (!into.signer.empty() && into.any_signer)
        return usage("--signer and --any-signer exclude each other");
    if (!into.receipt.empty() && into.range.any())
        return usage("a receipt tells of whole files, not of ranges");
    if (into.action != Action::trial && !into.trial.swept.empty()) {
        return usage("--" + into.trial.swept.begin()->first + " takes a list for trial alone");
    }
    if (into.certificate.empty() != into.key.empty()) {
        return usage("--certificate and --key go together");
    }
    return {};
}

}  // namespace

Result<Arguments> parse_arguments(std::span<const char* const> arguments,
                                  const config::ClientSettings& defaults) {
    Arguments parsed;
    parsed.settings = defaults;
    parsed.words.assign(arguments.begin(), arguments.end());
    const auto dashes = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
    std::vector<std::string> before(arguments.begin(), dashes);
    std::vector<std::string> behind(dashes == arguments.end() ? dashes : dashes + 1,
                                    arguments.end());
    // "++" alone would end a subcommand for CLI11; as a name it is the same as "./++".
    std::replace(before.begin(), before.end(), std::string("++"), std::string("./++"));
    std::reverse(before.begin(), before.end());  // as CLI11 takes a vector
    const auto app = make_app(parsed);
    try {
        app->parse(std::move(before));
    } catch (const CLI::Error& error) {
        return usage(error.what());
    }
    if (app->count("--help") > 0 || app->count("--version") > 0) return parsed;
    if (auto taken = take_operands(app->remaining(), std::move(behind), parsed); !taken) {
        return taken.error();
    }
    return parsed;
}

bool wants_json(std::span<const char* const> arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
    return std::find(arguments.begin(), end, std::string_view("--json")) != end;
}

std::string help_text() {
    std::string text =
        "lambda-ftp moves files over parallel SABUL flows, to and from a lambda-ftpd.\n\n";
    for (const Form& form : kForms) {
        std::string line = std::string("  lambda-ftp ") + form.name + " " + form.operands;
        line.resize(std::max<std::size_t>(line.size() + 2, 44), ' ');
        text += line + form.about + "\n";
    }
    text +=
        "\nA place is lambda://[user@]host[:port]/path (percent-encoded), [user@]host:path, or a\n"
        "local path. With several sources, or where DESTINATION is a directory or ends in '/',\n"
        "each source lands in it. Options may stand anywhere before --.\n";
    Arguments arguments;
    const std::string options = make_app(arguments)->help();
    return text + "\n" + options.substr(options.find("Options:"));
}

std::vector<std::string> action_names() {
    std::vector<std::string> names;
    for (const Form& form : kForms) names.emplace_back(form.name);
    return names;
}

std::vector<std::string> option_names() {
    Arguments arguments;
    std::vector<std::string> names;
    const auto app = make_app(arguments);
    for (const CLI::Option* option : app->get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

}  // namespace lambda::client
