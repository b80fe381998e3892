// The accounts of a server, kept as YAML:
//
//     accounts:
//       alice: {password: "scrypt$...", root: "/srv/alice", read_only: false}
//
// Values: the loop's thread owns the set and replaces it whole at a reload.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace lambda::server {

struct Account {
    std::string password;  // as hash_password() gives it
    std::string root;      // the directory it is jailed in; empty: the server's
    bool read_only = false;

    bool operator==(const Account&) const = default;
};

using Accounts = std::map<std::string, Account>;

// The account of this name, while it has the password that it had (as it was stored); nothing once
// it is gone or has another one. `accounts` outlive what is returned.
const Account* find_account(const Accounts& accounts, const std::string& name,
                            const std::string& password);

// 1 to 64 letters, digits and . _ @ -, not beginning with '-'.
bool is_account_name(std::string_view name);

// A file that is not there holds no accounts. Errors name the file and line.
Result<Accounts> load_accounts(const std::string& file);
Result<Accounts> parse_accounts(const std::string& text, const std::string& file);
// Replaces the file atomically, 0600; as root, with the owner that keep_owner() finds.
Result<void> save_accounts(const std::string& file, const Accounts& accounts,
                           const std::string& state_directory);

}  // namespace lambda::server
