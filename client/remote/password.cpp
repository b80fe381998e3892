#include "client/remote/password.h"

#include <sys/stat.h>

#include <cstdlib>

#include "client/home/home.h"
#include "client/remote/terminal.h"
#include "common/base/ascii.h"
#include "common/io/file/small_file.h"

namespace lambda::client {
namespace {

constexpr std::size_t kPasswordFileLimit = 64 * 1024;
constexpr std::size_t kNetrcLimit = 1 << 20;
constexpr std::string_view kBlanks = " \t\r\n";

// The tokens of a netrc, one after the other.
class NetrcTokens {
  public:
    explicit NetrcTokens(std::string_view text) : rest_(text) {}

    // Empty at the end.
    std::string next() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
        if (rest_.starts_with('"')) return quoted();
        const std::string_view token = rest_.substr(0, rest_.find_first_of(kBlanks));
        rest_.remove_prefix(token.size());
        return std::string(token);
    }
    // A macro's body ends at an empty line.
    void skip_macro() {
        const std::size_t end = rest_.find("\n\n");
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 2);
    }
    void skip_line() { rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size())); }

  private:
    std::string quoted() {
        std::string token;
        rest_.remove_prefix(1);
        while (!rest_.empty() && rest_.front() != '"') {
            if (rest_.front() == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
            token += rest_.front();
            rest_.remove_prefix(1);
        }
        if (!rest_.empty()) rest_.remove_prefix(1);
        return token;
    }

    std::string_view rest_;
};

using Warn = std::function<void(const std::string&)>;

// Nothing where it is none: a pipe gives what it has but once.
std::optional<mode_t> mode_of_file(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return status.st_mode;
}

void warn_if_readable(const std::string& path, const Warn& warn) {
    if ((mode_of_file(path).value_or(0) & (S_IRGRP | S_IROTH)) != 0)
        warn(path + " holds a password and others can read it; chmod 600 it");
}

std::string first_line(const std::string& content) {
    std::string line = content.substr(0, content.find('\n'));
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

std::string local_user() {
    const auto account = own_account();
    return account ? account->name : "anonymous";
}

std::optional<Login> login_in_netrc(const Server& server, std::string& path, const Warn& warn) {
    path = home_directory() + "/.netrc";
    bool missing = false;
    const auto content = io::read_small_file(path, kNetrcLimit, &missing);
    if (!content) {
        if (!missing) warn(content.error().sentence());
        return std::nullopt;
    }
    return find_in_netrc(*content, server.host, server.user);
}

}  // namespace

std::optional<Login> find_in_netrc(std::string_view netrc, std::string_view host,
                                   std::string_view user) {
    NetrcTokens tokens(netrc);
    Login entry;
    bool ours = false;
    const auto complete = [&] {
        return ours && !entry.password.empty() && (user.empty() || entry.user == user);
    };
    for (std::string token = tokens.next(); !token.empty(); token = tokens.next()) {
        if (token == "machine" || token == "default") {
            if (complete()) return entry;
            ours = token == "default" || lower_case(tokens.next()) == host;
            entry = {};
        } else if (token == "login") {
            entry.user = tokens.next();
        } else if (token == "password") {
            entry.password = tokens.next();
        } else if (token == "account") {
            tokens.next();
        } else if (token == "macdef") {
            tokens.skip_macro();
        } else if (token.starts_with('#')) {
            tokens.skip_line();
        }
    }
    if (complete()) return entry;
    return std::nullopt;
}

std::string find_user(const Server& server) {
    if (!server.user.empty()) return server.user;
    std::string path;
    const auto entry = login_in_netrc(server, path, [](const std::string&) {});
    return entry && !entry->user.empty() ? entry->user : local_user();
}

void warn_of_readable_password(const Server& server, const std::string& password_file,
                               const Warn& warn) {
    std::string file = password_file;
    if (file.empty() && !login_in_netrc(server, file, [](const std::string&) {})) return;
    warn_if_readable(file, warn);
}

Result<std::string> Logins::read(const std::string& file, const Warn& warn) {
    if (const auto kept = kept_.find(file); kept != kept_.end()) return kept->second;
    const auto content = io::read_small_file(file, kPasswordFileLimit);
    if (!content) {
        Error error = content.error();
        error.fault = Fault::usage;
        return error;
    }
    warn_if_readable(file, warn);
    std::string password = first_line(*content);
    if (password.empty()) {
        return Error{.fault = Fault::usage,
                     .message = "the first line holds no password",
                     .path = file,
                     .side = Side::local,
                     .remedy = "write the password on the first line of the file"};
    }
    if (!mode_of_file(file)) kept_[file] = password;
    return password;
}

Result<Login> Logins::find(const Server& server, const std::string& password_file, const Warn& warn,
                           PasswordNames names, bool may_ask) {
    const std::lock_guard lock(mutex_);
    if (!password_file.empty()) {
        auto password = read(password_file, warn);
        if (!password) return password.error();
        return Login{find_user(server), *std::move(password), password_file};
    }
    // What an unset variable left is none.
    if (const char* password = std::getenv(names.variable); password && *password != '\0') {
        return Login{find_user(server), password, names.variable};
    }
    std::string netrc;
    if (auto entry = login_in_netrc(server, netrc, warn)) {
        warn_if_readable(netrc, warn);
        if (entry->user.empty()) entry->user = local_user();
        entry->from = netrc;
        return *std::move(entry);
    }
    const std::string user = find_user(server);
    const std::string whose = "password of " + user + " at " + server.endpoint();
    if (const auto kept = kept_.find(whose); kept != kept_.end())
        return Login{user, kept->second, "the prompt"};
    const std::string instead = std::string("give it by ") + names.option + ", " + names.variable +
                                " or a line 'machine " + server.host + " login " + user +
                                " password ...' in ~/.netrc";
    auto typed = may_ask ? ask_password(whose, instead)
                         : Result<std::string>(Error{.fault = Fault::session,
                                                     .message = "nothing has the " + whose,
                                                     .path = {},
                                                     .side = Side::local,
                                                     .remedy = instead});
    if (!typed) return typed.error();
    kept_[whose] = *typed;
    return Login{user, *std::move(typed), "the prompt"};
}

}  // namespace lambda::client
