#include "client/remote/connection.h"

#include <algorithm>

#include "client/remote/password.h"
#include "client/remote/trust.h"
#include "client/waiting.h"

namespace lambda::client {
namespace {

Result<void> queue_login(Connection& connection, const Server& server, const Access& access,
                         const Warn& warn) {
    if (!access.certificate.empty()) {
        connection.expect_login(1,
                                "log in as whom the certificate names, one that the server's "
                                "client_ca signed; or by a password, without --certificate");
        return connection.send("USER", find_user(server));
    }
    const auto login = access.logins->find(server, access.password_file, warn,
                                           access.password_names, access.may_ask);
    if (!login) return login.error();
    connection.expect_login(2, "check that " + login->user +
                                   " is the user's name, and the password from " + login->from);
    auto queued = connection.send("USER", login->user);
    if (queued) queued = connection.send("PASS", login->password);
    if (queued) return {};
    return Error{.fault = Fault::usage,  // without the argument: it may be the password
                 .message = "the user's name or password has a line end or is too long",
                 .path = {},
                 .side = Side::local,
                 .remedy = {}};
}

NewHost new_host(const Access& access) {
    if (access.trust_new_host) return NewHost::trust;
    return access.may_ask ? NewHost::ask : NewHost::refuse;
}

// In "host:2812/x" the number is a name at port 2811, where nothing may listen.
Error with_hint(Error error, const Server& server) {
    if (error.fault != Fault::session || error.side != Side::network) return error;
    if (server.port == kControlPort && !error.remedy.empty()) {
        error.remedy += "; another port is written lambda://user@host:PORT/path";
    }
    return error;
}

}  // namespace

Result<std::unique_ptr<Connection>> open_connection(const Server& server, const Access& access,
                                                    const Warn& warn, std::uint16_t stripes) {
    const bool pin = access.ca.empty();
    Connection::Call call{.server = server.host_port(),
                          .may_dial = {},
                          .trust = {.ca_file = access.ca,
                                    .pinned = std::nullopt,
                                    .accept_unknown = pin,
                                    .certificate_file = access.certificate,
                                    .key_file = access.key},
                          .check_key = {},
                          .stripes = stripes};
    if (pin) {
        call.check_key = [&](const io::Fingerprint& shown) {
            return check_key(KnownHosts::of_user(), server, shown, new_host(access));
        };
    }
    auto connection = Connection::open(call, interruption());
    if (!connection) return with_hint(connection.error(), server);
    if (auto queued = queue_login(**connection, server, access, warn); !queued) {
        return queued.error();
    }
    return connection;
}

Result<void> ask_all(Connection& connection, const std::string& verb,
                     const std::vector<std::string>& arguments,
                     const std::function<Result<void>(std::size_t)>& hear) {
    std::size_t sent = 0;
    for (std::size_t heard = 0; heard < arguments.size(); ++heard) {
        for (; sent < std::min(arguments.size(), heard + kInHand); ++sent) {
            if (auto queued = connection.send(verb, arguments[sent]); !queued) return queued;
        }
        if (auto each = hear(heard); !each) return each;
    }
    return {};
}

}  // namespace lambda::client
