// What the administrator asks of lambda-ftpd: its settings from file and options, and the commands
// on accounts. Blocking; before anything else runs.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "config/server_settings.h"
#include "server/accounts.h"

namespace lambda::server {

struct CommandLine {
    std::string config;  // empty: all defaults
    std::string root;
    std::vector<std::string> listen;
    std::string user;
    std::string password_file;
    std::string state;
    bool allow_null = false;
    std::vector<std::string> copy_hosts;
    std::string log_level;
    bool read_only = false, read_write = false;  // `user add`
};

// The settings of the file, with the options over them.
Result<config::ServerSettings> settings_of(const CommandLine& line);
// The accounts of the file, and that of --user. Says a warning where a password file is readable.
// `before`: as they were so far. That of --user is stored as it was then, where its password still
// is the same, so that what it granted holds.
Result<Accounts> accounts_of(const CommandLine& line, const config::ServerSettings& settings,
                             const Accounts& before = {});

// Error: an account whose root nobody names, or is no directory, so that its logins would all fail;
// or the settings name such a root.
Result<void> check_roots(const Accounts& accounts, const config::ServerSettings& settings);

// What was done, in a line.
Result<std::string> add_user(const CommandLine& line, const config::ServerSettings& settings);
Result<std::string> remove_user(const std::string& name, const config::ServerSettings& settings);
// One line each: name, rights, root.
Result<std::string> list_users(const config::ServerSettings& settings);

}  // namespace lambda::server
