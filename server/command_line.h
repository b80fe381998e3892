// What the administrator asks of lambda-ftpd, by file and options: its settings, and its accounts.
// Blocking; before anything else runs.
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
// The account of --user, --password-file, --root and rights. `password_before`: as it was stored so
// far; it is kept where the password still is the same.
Result<Account> account_of(const CommandLine& line, const std::string& password_before = {});
// The accounts of the file, and that of --user. Says a warning where a password file is readable.
// `before`: as they were so far. That of --user is stored as it was then, where its password still
// is the same, so that what it granted holds.
Result<Accounts> accounts_of(const CommandLine& line, const config::ServerSettings& settings,
                             const Accounts& before = {});

}  // namespace lambda::server
