#include "server/command_line.h"

#include "common/io/log.h"
#include "common/session/facts.h"
#include "config/endpoint.h"
#include "config/host_rules.h"
#include "server/password_file.h"
#include "server/password_hash.h"
#include "server/roots.h"
#include "server/state.h"

namespace lambda::server {
namespace {

using session::usage_error;

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
        Result<std::string> root = absolute_root(line.root);
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

Result<Account> account_of(const CommandLine& line, const std::string& password_before) {
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
        Result<std::string> root = absolute_root(line.root);
        if (!root) return root.error();
        account.root = *root;
    }
    Result<std::string> hash = hash_of_file(line.password_file, password_before);
    if (!hash) return hash.error();
    account.password = *hash;
    return account;
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

}  // namespace lambda::server
