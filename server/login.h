// USER and PASS: who this session is. Blocking: for a worker thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/io/root.h"
#include "config/server_settings.h"
#include "server/accounts.h"

namespace lambda::server {

// Takes the same time for a name that is not there, a wrong password and an account without a root.
// Nothing: refused; the log tells why.
std::optional<io::Root> log_in(const Accounts& accounts, const config::ServerSettings& settings,
                               const std::string& name, const std::string& password);
// For who has proved it already, by a client certificate or a known login.
std::optional<io::Root> open_root(const Accounts& accounts, const config::ServerSettings& settings,
                                  const std::string& name);

}  // namespace lambda::server
