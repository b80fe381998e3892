#include "server/roots.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "common/io/log.h"
#include "common/session/facts.h"
#include "server/state.h"

namespace lambda::server {
namespace {

namespace fs = std::filesystem;

Error no_root(std::string what, const std::string& directory, int error_number) {
    Error error = errno_error(Fault::usage, std::move(what), directory, error_number);
    if (error_number == ENOENT) error.remedy = "make it first";
    return error;
}

Result<void> check_root(std::string what, const std::string& root) {
    struct stat status {};
    int error_number = 0;
    if (::stat(root.c_str(), &status) != 0) {
        error_number = errno;
    } else if (!S_ISDIR(status.st_mode)) {
        error_number = ENOTDIR;
    } else if (::faccessat(AT_FDCWD, root.c_str(), X_OK, AT_EACCESS) != 0) {
        error_number = errno;
    }
    if (error_number == 0) return {};
    return no_root(std::move(what), root, error_number);
}

bool lies_in(const std::string& file, const std::string& directory) {
    std::error_code unknown;
    const fs::path inner = fs::weakly_canonical(file, unknown);
    const fs::path outer = fs::weakly_canonical(directory, unknown);
    const auto [rest, at] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    return rest == outer.end();
}

// What of the server's secrets lies in this root; empty: nothing.
std::string secret_within(const std::string& root, const config::ServerSettings& settings) {
    for (const std::string& secret :
         {settings.state, accounts_file(settings), key_file(settings)}) {
        if (lies_in(secret, root)) return secret;
    }
    return {};
}

}  // namespace

Result<std::string> absolute_root(const std::string& directory) {
    const std::unique_ptr<char, decltype(&std::free)> path(::realpath(directory.c_str(), nullptr),
                                                           std::free);
    if (!path) return no_root("cannot use the root", directory, errno);
    return std::string(path.get());
}

void warn_of_secrets(const Accounts& accounts, const config::ServerSettings& settings) {
    std::string first;
    std::size_t others = 0;
    for (const auto& [name, account] : accounts) {
        const std::string& root = account.root.empty() ? settings.root : account.root;
        const std::string secret = secret_within(root, settings);
        if (secret.empty()) continue;
        if (first.empty())
            first =
                "account '" + name + "' can reach " + secret + ", which lies in its root " + root;
        else
            ++others;
    }
    if (first.empty()) return;
    if (others > 0) first += "; so can " + std::to_string(others) + " more";
    io::log_warning(first +
                    ": who reads the key can pass for this server; keep `state` elsewhere, or "
                    "give them other roots");
}

Result<void> check_root_of(const std::string& name, const Account& account,
                           const config::ServerSettings& settings) {
    const std::string& root = account.root.empty() ? settings.root : account.root;
    if (root.empty()) {
        return session::usage_error(
            "account '" + name + "' has no root, and the settings name none",
            "name a directory by --root, or set `root` in the settings");
    }
    return check_root("cannot use the root of account '" + name + "'", root);
}

Result<void> check_roots(const Accounts& accounts, const config::ServerSettings& settings) {
    for (const auto& [name, account] : accounts)
        if (auto checked = check_root_of(name, account, settings); !checked) return checked;
    warn_of_secrets(accounts, settings);
    return settings.root.empty() ? Result<void>()
                                 : check_root("cannot use the root", settings.root);
}

}  // namespace lambda::server
