#include "server/login.h"

#include "common/io/log.h"
#include "server/password_hash.h"

namespace lambda::server {
namespace {

Error unusable(const std::string& account, const std::string& why) {
    return Error{.fault = Fault::cut,
                 .message = "the account " + account + " cannot be used now: " + why,
                 .path = {},
                 .side = Side::local,
                 .remedy = "tell who runs the server"};
}

}  // namespace

Result<bool> proves(const Accounts& accounts, const std::string& name,
                    const std::string& password) {
    const auto found = accounts.find(name);
    const bool known = found != accounts.end();
    const auto right =
        verify_password(password, known ? found->second.password : dummy_password_hash());
    if (!right) {
        io::log_error(right.error().sentence());
        return right.error();
    }
    return *right && known;
}

Result<io::Root> open_root(const Accounts& accounts, const config::ServerSettings& settings,
                           const std::string& name) {
    const auto found = accounts.find(name);
    if (found == accounts.end()) return unusable(name, "it is gone");
    const std::string& root = found->second.root.empty() ? settings.root : found->second.root;
    if (root.empty()) {
        io::log_error("account '" + name + "' has no root, and the settings name none");
        return unusable(name, "it has no root");
    }
    Result<io::Root> jail = io::Root::jail(root, found->second.read_only, settings.allow_null);
    if (!jail) {
        io::log_error("account '" + name + "': " + jail.error().sentence());
        return unusable(name, jail.error().message);
    }
    return jail;
}

}  // namespace lambda::server
