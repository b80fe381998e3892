// `lambda-ftpd user add`, `remove` and `list`: what they change is the file of accounts. Blocking.
#pragma once

#include <string>

#include "common/base/result.h"
#include "config/server_settings.h"
#include "server/command_line.h"

namespace lambda::server {

// What was done, in a line.
Result<std::string> add_user(const CommandLine& line, const config::ServerSettings& settings);
Result<std::string> remove_user(const std::string& name, const config::ServerSettings& settings);
// One line each: name, rights, root.
Result<std::string> list_users(const config::ServerSettings& settings);

}  // namespace lambda::server
