// USER and PASS: who this session is. Blocking: for a worker thread.
//
// Errors are for who has proved who he is, and name no place outside his root; the log has the
// place. Fault::cut: it may pass, as when the disk of the root is not there yet.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/io/file/root.h"
#include "config/server_settings.h"
#include "server/accounts.h"

namespace lambda::server {

// False: the name is not there, or the password is wrong; both take the same time.
Result<bool> proves(const Accounts& accounts, const std::string& name, const std::string& password);
// For who has proved who he is.
Result<io::Root> open_root(const Accounts& accounts, const config::ServerSettings& settings,
                           const std::string& name);

}  // namespace lambda::server
