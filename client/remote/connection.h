// A user's session with a server: the key checked against what is known of it, the login on its
// way.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/remote/password.h"
#include "client/remote/place.h"
#include "common/base/result.h"
#include "common/dialling/connection.h"

namespace lambda::client {

using dialling::Connection;
using dialling::path_at_server;
using dialling::refusal;

// How a user gets in.
struct Access {
    std::string ca;  // PEM of the authority that vouches for the server; empty: keys are pinned
    bool trust_new_host = false;
    std::string password_file;
    PasswordNames password_names = {};
    std::shared_ptr<Logins> logins = std::make_shared<Logins>();
    std::string certificate, key;  // the user's own, PEM; both empty: a password is used
    bool may_ask = true;           // at the terminal; else what is not known is an error
};

using Warn = std::function<void(const std::string&)>;

// `stripes`: of the transfer that it is for, whose connections are made ahead.
Result<std::unique_ptr<Connection>> open_connection(const Server& server, const Access& access,
                                                    const Warn& warn, std::uint16_t stripes = 0);

// The server takes 64 commands in hand, of which the login has two.
inline constexpr std::size_t kInHand = 32;
// Asks `verb` about each of these, kInHand of them on their way; `hear` takes the answers, in their
// order. The first error ends it.
Result<void> ask_all(Connection& connection, const std::string& verb,
                     const std::vector<std::string>& arguments,
                     const std::function<Result<void>(std::size_t)>& hear);

}  // namespace lambda::client
