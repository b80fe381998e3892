#include "server/command_line.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

#include "common/io/file/root.h"
#include "common/io/log.h"
#include "common/session/facts.h"
#include "config/endpoint.h"
#include "config/host_rules.h"
#include "server/password.h"
#include "server/server.h"
#include "server/state.h"

namespace lambda::server {
namespace {

namespace fs = std::filesystem;
using session::usage_error;

constexpr const char* kReadAtReload =
    "; a running server reads it at SIGHUP (systemctl reload lambda-ftpd)\n";

Error no_root(std::string what, const std::string& directory, int error_number) {
    Error error = errno_error(Fault::usage, std::move(what), directory, error_number);
    if (error_number == ENOENT) error.remedy = "make it first";
    return error;
}

Result<std::string> absolute(const std::string& directory) {
    const std::unique_ptr<char, decltype(&std::free)> path(::realpath(directory.c_str(), nullptr),
                                                           std::free);
    if (!path) return no_root("cannot use the root", directory, errno);
    return std::string(path.get());
}

// `before`: what it was so far, kept where it still is the same password's.
Result<std::string> hash_of_file(const std::string& file, const std::string& before) {
    const Result<PasswordFile> password = read_password_file(file);
    if (!password) return password.error();
    if (password->readable_by_others) {
        io::log_warning(file + ": others can read this password file; chmod 600 mends it");
    }
    const Result<bool> same = verify_password(password->password, before);
    if (!same) return same.error();
    if (*same) return before;
    return hash_password(password->password);
}

Result<Account> account_of(const CommandLine& line, const std::string& password_before = {}) {
    if (!is_account_name(line.user)) {
        return usage_error("'" + line.user + "' cannot name an account",
                           "use 1 to 64 letters, digits and . _ @ -");
    }
    if (line.password_file.empty()) {
        return usage_error("an account needs a password", "name a file by --password-file");
    }
    Account account;
    account.read_only = line.read_only;
    if (!line.root.empty()) {
        Result<std::string> root = absolute(line.root);
        if (!root) return root.error();
        account.root = *root;
    }
    Result<std::string> hash = hash_of_file(line.password_file, password_before);
    if (!hash) return hash.error();
    account.password = *hash;
    return account;
}

Result<void> check_root(std::string what, const std::string& root) {
    struct stat status {};
    int error_number = 0;
    if (::stat(root.c_str(), &status) != 0) {
        error_number = errno;
    } else if (!S_ISDIR(status.st_mode)) {
        error_number = ENOTDIR;
    } else if (::faccessat(AT_FDCWD, root.c_str(), X_OK, AT_EACCESS) != 0) {
        error_number = errno;
    }
    if (error_number == 0) return {};
    return no_root(std::move(what), root, error_number);
}

bool lies_in(const std::string& file, const std::string& directory) {
    std::error_code unknown;
    const fs::path inner = fs::weakly_canonical(file, unknown);
    const fs::path outer = fs::weakly_canonical(directory, unknown);
    const auto [rest, at] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    return rest == outer.end();
}

// What of the server's secrets lies in this root; empty: nothing.
std::string secret_within(const std::string& root, const config::ServerSettings& settings) {
    for (const std::string& secret :
         {settings.state, accounts_file(settings), key_file(settings)}) {
        if (lies_in(secret, root)) return secret;
    }
    return {};
}

// In one line. Who has the root of all files has what the server's user has; that is said, too.
void warn_of_secrets(const Accounts& accounts, const config::ServerSettings& settings) {
    std::string first;
    std::size_t others = 0;
    for (const auto& [name, account] : accounts) {
        const std::string& root = account.root.empty() ? settings.root : account.root;
        const std::string secret = secret_within(root, settings);
        if (secret.empty()) continue;
        if (first.empty())
            first =
                "account '" + name + "' can reach " + secret + ", which lies in its root " + root;
        else
            ++others;
    }
    if (first.empty()) return;
    if (others > 0) first += "; so can " + std::to_string(others) + " more";
    io::log_warning(first +
                    ": who reads the key can pass for this server; keep `state` elsewhere, or "
                    "give them other roots");
}

Result<void> check_root_of(const std::string& name, const Account& account,
                           const config::ServerSettings& settings) {
    const std::string& root = account.root.empty() ? settings.root : account.root;
    if (root.empty()) {
        return usage_error("account '" + name + "' has no root, and the settings name none",
                           "name a directory by --root, or set `root` in the settings");
    }
    return check_root("cannot use the root of account '" + name + "'", root);
}

// Reads, changes and writes the accounts while no other does.
Result<void> update(const config::ServerSettings& settings,
                    const std::function<Result<void>(Accounts&)>& change) {
    if (auto made = make_state_directory(settings.state); !made) return made.error();
    const std::string file = accounts_file(settings);
    const io::Descriptor lock(
        ::open((file + ".lock").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock || ::flock(lock.get(), LOCK_EX) != 0) {
        return errno_error(Fault::usage, "cannot lock the accounts", file, errno);
    }
    if (auto kept = keep_owner(lock.get(), file, settings.state); !kept) return kept;
    Result<Accounts> accounts = load_accounts(file);
    if (!accounts) return accounts.error();
    if (auto changed = change(*accounts); !changed) return changed;
    return save_accounts(file, *accounts, settings.state);
}

}  // namespace

Result<config::ServerSettings> settings_of(const CommandLine& line) {
    config::ServerSettings settings;
    if (!line.config.empty()) {
        Result<config::ServerSettings> loaded = config::load_server_settings(line.config);
        if (!loaded) return loaded.error();
        settings = std::move(*loaded);
    }
    if (!line.listen.empty()) settings.listen.clear();
    for (const std::string& text : line.listen) {
        const Result<Address> address = config::parse_endpoint(text);
        if (!address) return address.error();
        settings.listen.push_back(*address);
    }
    if (!line.state.empty()) settings.state = line.state;
    if (!line.root.empty()) {
        Result<std::string> root = absolute(line.root);
        if (!root) return root.error();
        settings.root = *root;
    }
    if (line.allow_null) settings.allow_null = true;
    if (!line.copy_hosts.empty()) {
        if (auto rules = config::HostRules::parse(line.copy_hosts); !rules) return rules.error();
        settings.copy_hosts = line.copy_hosts;
    }
    if (!line.log_level.empty()) settings.log_level = line.log_level;
    return settings;
}

Result<Accounts> accounts_of(const CommandLine& line, const config::ServerSettings& settings,
                             const Accounts& before) {
    Result<Accounts> accounts = load_accounts(accounts_file(settings));
    if (!accounts) return accounts.error();
    if (line.user.empty() && !line.password_file.empty()) {
        return usage_error("--password-file is of no use without --user");
    }
    if (line.user.empty()) return accounts;
    if (settings.root.empty()) {
        return usage_error("the account of --user needs a directory", "name it by --root");
    }
    const auto known = before.find(line.user);
    Result<Account> account =
        account_of(line, known == before.end() ? std::string() : known->second.password);
    if (!account) return account.error();
    (*accounts)[line.user] = std::move(*account);
    return accounts;
}

Result<void> check_roots(const Accounts& accounts, const config::ServerSettings& settings) {
    for (const auto& [name, account] : accounts)
        if (auto checked = check_root_of(name, account, settings); !checked) return checked;
    warn_of_secrets(accounts, settings);
    return settings.root.empty() ? Result<void>()
                                 : check_root("cannot use the root", settings.root);
}

Result<std::string> add_user(const CommandLine& line, const config::ServerSettings& settings) {
    Result<Account> account = account_of(line);
    if (!account) return account.error();
    bool added = false;
    const Result<void> updated = update(settings, [&](Accounts& accounts) -> Result<void> {
        if (const auto before = accounts.find(line.user); before != accounts.end()) {
            if (!line.read_write) account->read_only |= before->second.read_only;
            if (line.root.empty()) account->root = before->second.root;
        }
        if (auto checked = check_root_of(line.user, *account, settings); !checked) return checked;
        warn_of_secrets({{line.user, *account}}, settings);
        added = accounts.insert_or_assign(line.user, *account).second;
        return {};
    });
    if (!updated) return updated.error();
    return "account " + line.user + (added ? " added" : " changed") + kReadAtReload;
}

Result<std::string> remove_user(const std::string& name, const config::ServerSettings& settings) {
    const Result<void> updated = update(settings, [&](Accounts& accounts) -> Result<void> {
        if (accounts.erase(name) == 0) return usage_error("there is no account '" + name + "'");
        return {};
    });
    if (!updated) return updated.error();
    return "account " + name + " removed" + kReadAtReload;
}

Result<std::string> list_users(const config::ServerSettings& settings) {
    const Result<Accounts> accounts = load_accounts(accounts_file(settings));
    if (!accounts) return accounts.error();
    if (accounts->empty())
        return "no accounts in " + accounts_file(settings) +
               "; one that a server was given with --user stands on its command line alone\n";
    std::string text;
    for (const auto& [name, account] : *accounts) {
        const std::string& root = account.root.empty() ? settings.root : account.root;
        text += name + (account.read_only ? " read-only " : " read-write ") + root + "\n";
    }
    return text;
}

}  // namespace lambda::server
