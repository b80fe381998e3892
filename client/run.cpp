#include "client/run.h"

#include <sys/stat.h>

#include <cerrno>
#include <new>

#include "client/checksum.h"
#include "client/command_line/arguments.h"
#include "client/command_line/completion.h"
#include "client/command_line/help.h"
#include "client/copy/copy_command.h"
#include "client/file_commands.h"
#include "client/home/home.h"
#include "client/list_command.h"
#include "client/receipt/audit.h"
#include "client/replicate/command.h"
#include "client/report/report.h"
#include "client/transfer/transfers.h"
#include "client/trial/trial.h"
#include "client/waiting.h"
#include "common/io/log.h"
#include "common/io/process.h"

namespace lambda::client {
namespace {

// The user's client.yaml, or the defaults where there is none: one that cannot be read, as a link
// that leads nowhere, is there.
Result<config::ClientSettings> load_settings() {
    const std::string file = config_directory() + "/client.yaml";
    struct stat status {};
    const bool none = ::lstat(file.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
    return none ? config::ClientSettings{} : config::load_client_settings(file);
}

bool needs_settings(Action action) {
    return action != Action::help && action != Action::version && action != Action::completion;
}

Result<Arguments> understand(std::span<const char* const> words) {
    const auto settings = load_settings();
    if (settings) return parse_arguments(words, *settings);
    // Their help is what tells how they should be.
    const auto parsed = parse_arguments(words, {});
    if (parsed && !needs_settings(parsed->action)) return parsed;
    return settings.error();
}

// With --quiet there are no warnings, unless even more than those was asked for.
io::LogLevel log_level(const Arguments& arguments) {
    const auto level = io::parse_log_level(arguments.settings.log_level);
    if (!level) return io::LogLevel::debug;  // "trace": there is nothing below debug
    const bool hushed = arguments.quiet && *level == io::LogLevel::warning;
    return hushed ? io::LogLevel::error : *level;
}

void show_text(const char* event, const std::string& text, Report& report) {
    report.data(JsonObject().text("event", event).text("text", text), text);
}

void perform(const Arguments& arguments, Report& report) {
    switch (arguments.action) {
        case Action::put:
            return put(arguments, report);
        case Action::get:
            return get(arguments, report);
        case Action::copy:
            return copy(arguments, report);
        case Action::copies:
            return copies(arguments, report);
        case Action::sync:
            return sync(arguments, report);
        case Action::trial:
            return trial(arguments, report);
        case Action::ls:
            return list(arguments, report);
        case Action::stat:
            return stat(arguments, report);
        case Action::mkdir:
            return make_directories_there(arguments, report);
        case Action::rm:
            return remove_files(arguments, report);
        case Action::rmdir:
            return remove_directories(arguments, report);
        case Action::mv:
            return rename(arguments, report);
        case Action::checksum:
            return checksum(arguments, report);
        case Action::audit:
            return audit(arguments, report);
        case Action::replicate:
            return replicate_job(arguments, report);
        case Action::ping:
            return ping(arguments, report);
        case Action::version:
            return show_text("version", "lambda-ftp " LAMBDA_VERSION ", protocol 1", report);
        case Action::completion:
            return show_text("completion", completion_script(), report);
        case Action::help:
            return show_text("help", help_text(arguments.help_of), report);
    }
}

}  // namespace

int run(int count, const char* const* arguments) {
    const Time started = now();
    catch_interruptions();
    const std::span words(arguments + 1, static_cast<std::size_t>(count > 0 ? count - 1 : 0));
    const auto understood = understand(words);
    if (!understood) {
        Report report({.json = wants_json(words)}, started);
        report.error(understood.error());
        return report.finish();
    }
    Report report({.json = understood->json,
                   .quiet = understood->quiet,
                   .verbose = understood->verbose,
                   .dry_run = understood->plan.dry_run},
                  started);
    io::open_log(log_level(*understood));
    try {
        perform(*understood, report);
    } catch (const std::bad_alloc&) {
        report.error_here(io::no_memory("it cannot be done"));
    }
    return report.finish();
}

}  // namespace lambda::client
