#include "server/account_commands.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <functional>

#include "common/io/file/root.h"
#include "common/session/facts.h"
#include "server/roots.h"
#include "server/state.h"

namespace lambda::server {
namespace {

using session::usage_error;

constexpr const char* kReadAtReload =
    "; a running server reads it at SIGHUP (systemctl reload lambda-ftpd)\n";

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
