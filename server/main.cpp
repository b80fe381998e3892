// lambda-ftpd: the command line, and the life of the process.

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <csignal>
#include <iostream>
#include <string_view>
#include <system_error>
#include <thread>

#include "common/io/log.h"
#include "common/io/process.h"
#include "common/io/tls/tls.h"
#include "common/session/facts.h"
#include "config/endpoint.h"
#include "config/option_values.h"
#include "server/account_commands.h"
#include "server/command_line.h"
#include "server/roots.h"
#include "server/server.h"
#include "server/state.h"

namespace {

using namespace lambda;
using server::CommandLine;

constexpr int kUsage = 2;
// For the last threads, once nothing is served any more.
constexpr unsigned kLongestEnd = 10;  // s

int fail(const Error& error) {
    std::cerr << "lambda-ftpd: " << error.sentence() << "\n";
    return error.fault == Fault::usage ? kUsage : 1;
}

// The exit code of what is done once it is told.
int end_of_output() {
    if (std::cout.flush()) return 0;
    std::cerr << "lambda-ftpd: cannot write to standard output\n";
    return 1;
}

io::LogLevel level_of(const config::ServerSettings& settings) {
    const Result<io::LogLevel> level = io::parse_log_level(settings.log_level);
    return level ? *level : io::LogLevel::debug;
}

// The threads that wait for a file system that does not answer would never be joined, and a thread
// that looks at the clock may be one more than there can be.
void end_anyway() {
    std::signal(SIGALRM, [](int) {
        constexpr std::string_view why =
            "lambda-ftpd: did not end in time: what waits, for a file system that does not answer "
            "perhaps, is left\n";
        [[maybe_unused]] const auto said = ::write(STDERR_FILENO, why.data(), why.size());
        ::_exit(1);
    });
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    ::alarm(kLongestEnd);
}

// On a thread that nobody waits for: a root may be on a file system that does not answer, which
// must hold up nothing else.
void look_at_roots(const server::Accounts& accounts, const config::ServerSettings& settings) {
    static std::atomic<bool> looking = false;
    if (looking.exchange(true)) {
        return io::log_warning(
            "the roots of the accounts are not looked at: one of them has not "
            "answered since they were looked at before");
    }
    try {
        std::thread([=] {
            auto checked = server::check_roots(accounts, settings);
            if (!checked) io::log_error(checked.error().sentence());
            looking = false;
        }).detach();
    } catch (const std::system_error& problem) {
        looking = false;
        io::log_warning("the roots of the accounts are not looked at: " +
                        std::string(problem.what()));
    }
}

// `accounts`: those of the server, before and after.
void reload(server::Server& running, const CommandLine& line, server::Accounts& accounts) {
    const Result<config::ServerSettings> settings = server::settings_of(line);
    if (!settings) return io::log_error("not reloaded: " + settings.error().sentence());
    io::open_log(level_of(*settings));
    const std::string file = server::accounts_file(*settings);
    const bool stored = std::any_of(accounts.begin(), accounts.end(),
                                    [&](const auto& each) { return each.first != line.user; });
    if (stored && ::access(file.c_str(), F_OK) != 0) {
        Error gone = errno_error(Fault::usage, "cannot read", file, errno);
        gone.remedy = "write 'accounts:' into it where none is meant";
        return io::log_error("accounts not reloaded: " + gone.sentence());
    }
    Result<server::Accounts> fresh = server::accounts_of(line, *settings, accounts);
    if (!fresh) return io::log_error("accounts not reloaded: " + fresh.error().sentence());
    look_at_roots(*fresh, *settings);
    if (fresh->empty() && !accounts.empty()) {
        io::log_warning("no account is left: nobody can log in; see " + file);
    }
    io::log_info("accounts and log level reloaded; accounts: " + std::to_string(fresh->size()) +
                 ", before: " + std::to_string(accounts.size()));
    accounts = *std::move(fresh);
    running.replace_accounts(accounts);
}

// A server with settings of its own may wait for accounts; one without was called by mistake.
Result<void> check_accounts(const CommandLine& line, const config::ServerSettings& settings,
                            const server::Accounts& accounts) {
    const bool configured = !line.config.empty();
    if (accounts.empty() && !configured) {
        return session::usage_error(
            "there is no account",
            "name one by --user, --password-file and --root, or add one by `lambda-ftpd user add`");
    }
    if (accounts.empty()) {
        io::log_warning("there is no account yet; add one by `lambda-ftpd user add`");
    }
    if (!configured) return server::check_roots(accounts, settings);
    look_at_roots(accounts, settings);
    return {};
}

// What a server can run with, and its keeper wants to know: a certificate that ended, secrets that
// others can read.
Result<std::vector<std::string>> doubts_of(const std::string& certificate,
                                           std::initializer_list<std::string> secrets) {
    std::vector<std::string> doubts;
    const Result<std::string> day = io::certificate_end(certificate);
    if (!day) return day.error();
    if (!day->empty())
        doubts.push_back(certificate + ": the certificate ended on " + *day +
                         "; clients that check it by an authority refuse it");
    for (const std::string& secret : secrets) {
        struct stat status {};
        if (::stat(secret.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0)
            doubts.push_back(secret + ": others can read it; chmod 600 mends it");
    }
    return doubts;
}

int serve(const CommandLine& line) {
    // One that comes before it is watched for waits, and ends nothing.
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &hangup, nullptr);
    Result<config::ServerSettings> settings = server::settings_of(line);
    if (!settings) return fail(settings.error());
    io::open_log(level_of(*settings));
    Result<server::Accounts> accounts = server::accounts_of(line, *settings);
    if (!accounts) return fail(accounts.error());
    if (auto checked = check_accounts(line, *settings, *accounts); !checked) {
        return fail(checked.error());
    }
    const std::string certificate = server::certificate_file(*settings);
    const std::string private_key = server::key_file(*settings);
    const std::string stored = server::accounts_file(*settings);
    Result<std::unique_ptr<server::Server>> made =
        server::Server::make(std::move(*settings), *accounts);
    if (!made) return fail(made.error());
    server::Server& running = **made;
    const Result<io::Fingerprint> key = io::certificate_fingerprint(certificate);
    if (!key) return fail(key.error());
    const auto doubts = doubts_of(certificate, {private_key, stored});
    if (!doubts) return fail(doubts.error());
    for (const std::string& doubt : *doubts) io::log_warning(doubt);
    // Hashing a password takes a while, and so may a file. Of the calls meanwhile one is kept.
    std::atomic<bool> called = false;
    boost::asio::thread_pool reloads(1);
    const auto watched = running.watch_signals([&] {
        if (called.exchange(true)) return;
        boost::asio::post(reloads, [&] {
            called = false;
            reload(running, line, *accounts);
        });
    });
    if (!watched) return fail(watched.error());
    ::pthread_sigmask(SIG_UNBLOCK, &hangup, nullptr);
    std::cout << "key " << *key << "\n";
    for (const Address& address : running.addresses()) {
        std::cout << "listening on " << config::format_endpoint(address) << std::endl;
    }
    if (!std::cout)
        io::log_warning("the key and the addresses could not be written to standard output");
    running.run();
    end_anyway();
    return 0;
}

int check_config(const CommandLine& line) {
    const Result<config::ServerSettings> settings = server::settings_of(line);
    if (!settings) return fail(settings.error());
    const Result<server::Accounts> accounts = server::accounts_of(line, *settings);
    if (!accounts) return fail(accounts.error());
    if (auto checked = server::check_roots(*accounts, *settings); !checked) {
        return fail(checked.error());
    }
    // The first start makes one where the settings name none.
    const std::string certificate = server::certificate_file(*settings);
    if (const auto usable = server::check_state_directory(settings->state); !usable)
        return fail(usable.error());
    Result<bool> stands = true;
    if (settings->certificate.empty())
        stands = server::has_certificate(certificate, server::key_file(*settings));
    if (!stands) return fail(stands.error());
    if (*stands) {
        const Result<io::Fingerprint> key = io::certificate_fingerprint(certificate);
        if (!key) return fail(key.error());
        const Result<io::TlsContext> tls = io::TlsContext::server(
            certificate, server::key_file(*settings), settings->client_ca, settings->allow_copy);
        if (!tls) return fail(tls.error());
        std::cout << "key " << *key << "\n";
        const auto doubts =
            doubts_of(certificate, {server::key_file(*settings), server::accounts_file(*settings)});
        if (!doubts) return fail(doubts.error());
        for (const std::string& doubt : *doubts)
            std::cerr << "lambda-ftpd: warning: " << doubt << "\n";
    } else {
        io::ClientTrust authorities;
        authorities.ca_file = settings->client_ca;
        authorities.accept_unknown = true;
        if (const auto tls = io::TlsContext::client(authorities); !tls) return fail(tls.error());
    }
    std::cout << "the settings are good; accounts: " << accounts->size() << "\n";
    return end_of_output();
}

// Runs one of the commands on accounts, and shows what it says.
template <typename Work>
int with_settings(const CommandLine& line, Work work) {
    const Result<config::ServerSettings> settings = server::settings_of(line);
    if (!settings) return fail(settings.error());
    const Result<std::string> said = work(*settings);
    if (!said) return fail(said.error());
    std::cout << *said;
    return end_of_output();
}

void add_place(CLI::App& app, CommandLine& line) {
    app.add_option("--config", line.config, "The settings, YAML")->type_name("FILE");
    app.add_option("--state", line.state, "Directory for key, certificate and accounts")
        ->type_name("DIRECTORY");
}

void refuse_empty_values(CLI::App& app) {
    for (CLI::Option* option : app.get_options())
        if (option->get_type_size() > 0) option->check(config::wrong_with_value);
    for (CLI::App* command : app.get_subcommands({})) refuse_empty_values(*command);
}

int run(int argc, char** argv) {
    CommandLine line;
    CLI::App app("lambda-ftpd serves files over striped SABUL flows.", "lambda-ftpd");
    app.set_version_flag("--version", "lambda-ftpd " LAMBDA_VERSION ", protocol 1");
    app.failure_message([](const CLI::App*, const CLI::Error& problem) {
        return "lambda-ftpd: " + std::string(problem.what()) + "; see lambda-ftpd --help\n";
    });
    app.require_subcommand(0, 1);
    add_place(app, line);
    app.add_option("--root", line.root, "Directory that accounts are jailed in")
        ->type_name("DIRECTORY");
    app.add_option("--listen", line.listen, "Where it listens; IPv6 in brackets; repeatable")
        ->type_name("ADDRESS:PORT");
    app.add_option("--user", line.user, "An account for this run, read-write")->type_name("NAME");
    app.add_option("--password-file", line.password_file, "Its password, on the first line")
        ->type_name("FILE");
    app.add_flag("--allow-null", line.allow_null, "Offer /.zero and /.null");
    app.add_option("--copy-host", line.copy_hosts,
                   "A host, network, *.DOMAIN, public or *: may be dialled for copies; repeatable")
        ->type_name("HOST");
    app.add_option("--log-level", line.log_level, "debug, info, warning or error")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}).description(""))
        ->type_name("LEVEL");

    CLI::App* const check = app.add_subcommand("check-config", "Check settings and accounts");
    add_place(*check, line);
    CLI::App* const user = app.add_subcommand("user", "Look after the accounts");
    user->require_subcommand(1);
    CLI::App* const add = user->add_subcommand("add", "Add an account, or change it");
    add_place(*add, line);
    add->add_option("NAME", line.user)->required()->type_name("");
    add->add_option("--password-file", line.password_file, "The password, on the first line")
        ->required()
        ->type_name("FILE");
    add->add_option("--root", line.root,
                    "Directory that it is jailed in; needed where the settings name no root")
        ->type_name("DIRECTORY");
    add->add_flag("--read-only", line.read_only, "It may not change anything")
        ->excludes(add->add_flag("--read-write", line.read_write,
                                 "It may again; a new account may without a word"));
    CLI::App* const remove = user->add_subcommand("remove", "Remove an account");
    add_place(*remove, line);
    remove->add_option("NAME", line.user)->required()->type_name("");
    CLI::App* const list = user->add_subcommand("list", "List the accounts");
    add_place(*list, line);

    refuse_empty_values(app);
    if (auto checked = config::check_values({argv, static_cast<std::size_t>(argc)}); !checked)
        return fail(checked.error());
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? end_of_output() : kUsage;
    }
    if (check->parsed()) return check_config(line);
    if (add->parsed()) {
        return with_settings(line, [&](const auto& s) { return server::add_user(line, s); });
    }
    if (remove->parsed()) {
        return with_settings(line,
                             [&](const auto& s) { return server::remove_user(line.user, s); });
    }
    if (list->parsed()) {
        return with_settings(line, [&](const auto& s) { return server::list_users(s); });
    }
    return serve(line);
}

}  // namespace

int main(int argc, char** argv) {
    lambda::io::prepare_process();
    try {
        return run(argc, argv);
    } catch (const std::exception& problem) {
        std::cerr << "lambda-ftpd: " << problem.what() << "\n";
        return 1;
    }
}
