// Who the user is for a server: a name and a password, from --password-file, LAMBDA_FTP_PASSWORD
// (or another variable of the environment), ~/.netrc or a prompt, in this order; never from the
// command line.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "client/remote/place.h"
#include "common/base/result.h"

namespace lambda::client {

// How a user names a password that is not in a file of the machine: the option and the variable.
struct PasswordNames {
    const char* option = "--password-file";
    const char* variable = "LAMBDA_FTP_PASSWORD";
};
// Of the source, where both ends are servers.
inline constexpr PasswordNames kSourcePassword{"--source-password-file",
                                               "LAMBDA_FTP_SOURCE_PASSWORD"};

struct Login {
    std::string user;
    std::string password;
    std::string from{};  // where the password stood, for people
};

// The entry of ~/.netrc for a host, in lower case (and a user, where that is not empty): machine,
// in any case, default, login, password, account, macdef, as ftp(1) reads them. Nothing if there is
// none. Pure.
std::optional<Login> find_in_netrc(std::string_view netrc, std::string_view host,
                                   std::string_view user);

// Tells of the file that has the server's password, `password_file` or where that is empty
// ~/.netrc, if others can read it.
void warn_of_readable_password(const Server& server, const std::string& password_file,
                               const std::function<void(const std::string&)>& warn);

// The logins of a run, whose sessions stand side by side and come again: what was typed, or came
// through a pipe, is not there a second time, and stays. Any thread.
class Logins {
  public:
    // The user's name: the server's, else of ~/.netrc, else the one of this machine. `warn` is told
    // of password files that others can read. Errors: Fault::session where no source has a password
    // and nobody may be asked, or there is no terminal; Fault::usage for an unreadable
    // --password-file.
    Result<Login> find(const Server& server, const std::string& password_file,
                       const std::function<void(const std::string&)>& warn,
                       PasswordNames names = {}, bool may_ask = true);

  private:
    Result<std::string> read(const std::string& file,
                             const std::function<void(const std::string&)>& warn);

    std::mutex mutex_;
    std::map<std::string, std::string> kept_;  // passwords, by their file or the question for them
};
// The name alone, for a login by client certificate.
std::string find_user(const Server& server);

}  // namespace lambda::client
