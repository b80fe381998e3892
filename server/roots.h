// The directories that accounts see as their root: whether their logins would find them, and what
// they had better not find there. Blocking, as long as a root's file system does.
#pragma once

#include <string>

#include "common/base/result.h"
#include "config/server_settings.h"
#include "server/accounts.h"

namespace lambda::server {

// As the settings and the accounts' file hold it.
Result<std::string> absolute_root(const std::string& directory);

// Of one account.
Result<void> check_root_of(const std::string& name, const Account& account,
                           const config::ServerSettings& settings);
// Error: an account whose root nobody names, or is no directory, so that its logins would all fail;
// or the settings name such a root.
Result<void> check_roots(const Accounts& accounts, const config::ServerSettings& settings);
// Of accounts whose roots hold the server's secrets, in one line. Who has the root of all files has
// what the server's user has; that is said, too.
void warn_of_secrets(const Accounts& accounts, const config::ServerSettings& settings);

}  // namespace lambda::server
