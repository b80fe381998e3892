#include "server/login.h"

#include "common/io/log.h"
#include "server/password.h"

namespace lambda::server {

std::optional<io::Root> log_in(const Accounts& accounts, const config::ServerSettings& settings,
                               const std::string& name, const std::string& password) {
    const auto found = accounts.find(name);
    const bool known = found != accounts.end();
    const bool right =
        verify_password(password, known ? found->second.password : dummy_password_hash());
    if (!known || !right) return std::nullopt;
    return open_root(accounts, settings, name);
}

std::optional<io::Root> open_root(const Accounts& accounts, const config::ServerSettings& settings,
                                  const std::string& name) {
    const auto found = accounts.find(name);
    if (found == accounts.end()) return std::nullopt;
    const std::string& root = found->second.root.empty() ? settings.root : found->second.root;
    if (root.empty()) {
        io::log_error("account '" + name + "' has no root, and the settings name none");
        return std::nullopt;
    }
    Result<io::Root> jail = io::Root::jail(root, found->second.read_only, settings.allow_null);
    if (!jail) {
        io::log_error("account '" + name + "': " + jail.error().sentence());
        return std::nullopt;
    }
    return std::move(*jail);
}

}  // namespace lambda::server
