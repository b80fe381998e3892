// A control session with one server: connected, encrypted, the key checked, the login on its way.
// Commands are queued and go out together with the login, so that a session costs as few round
// trips as it can. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/joins.h"
#include "client/place.h"
#include "common/base/address.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/io/tls.h"
#include "common/session/command.h"
#include "common/session/reply.h"

namespace lambda::client {

// How a user gets in.
struct Access {
    std::string ca;  // PEM of the authority that vouches for the server; empty: keys are pinned
    bool trust_new_host = false;
    std::string password_file;
    std::string certificate, key;  // the user's own, PEM; both empty: a password is used
};

class Connection {
  public:
    using Warn = std::function<void(const std::string&)>;

    // `stripes`: of the transfer that it is for, whose connections are made ahead. Errors before
    // the login is answered are Fault::session, after it Fault::cut.
    static Result<std::unique_ptr<Connection>> open(const Server& server, const Access& access,
                                                    const Warn& warn, std::uint16_t stripes = 0);
    ~Connection();  // says QUIT without waiting for an answer

    // Queues a command; the next receive() or poll() sends it. Fault::usage for an argument that
    // cannot stand on a line.
    Result<void> send(const std::string& verb, const std::string& argument = {});

    static constexpr Duration kReplyTimeout = std::chrono::seconds(60);
    // The next reply, whatever its code. The login's own replies are taken first; a refused login
    // is an error, and so is 421.
    Result<session::Reply> receive(Duration timeout = kReplyTimeout);
    // Likewise, but each line goes to `take` as it comes and is not kept. Returns the last one.
    Result<session::ReplyLine> receive_lines(
        const std::function<void(const session::ReplyLine&)>& take);
    Result<session::Reply> exchange(const std::string& verb, const std::string& argument = {});

    // For a loop of its own: what has come by now, if it is a whole reply. Never waits.
    Result<std::optional<session::Reply>> poll();
    int fd() const { return stream_.fd(); }
    short events() const;  // what poll(2) should look for

    // The stripes' connections; they move on while a reply is waited for.
    Joins& joins() { return joins_; }

    bool logged_in() const { return logged_in_; }
    const Server& server() const { return server_; }
    const Address& local() const { return local_; }
    const Address& peer() const { return peer_; }
    Result<std::array<std::byte, 32>> export_key(const std::string& label, ByteView context) const {
        return stream_.export_key(label, context);
    }

  private:
    Connection(const Server& server, io::TlsContext context, io::TlsStream stream,
               const Address& local, const Address& peer, Joins joins);
    Result<void> trust_stripes();
    Result<void> queue_login(const Access& access, const Warn& warn);
    Result<void> finish_login();
    // Calls `ready` until it has something, and moves bytes in between.
    Result<void> wait_until(const std::function<Result<bool>()>& ready, Duration timeout);
    Result<session::Reply> next_reply(Duration timeout);
    Result<std::optional<session::Reply>> parse_reply();
    // Sends and receives what goes without waiting.
    Result<void> move_bytes();
    Error lost(const std::string& why) const;

    Server server_;
    io::TlsContext context_;
    io::TlsStream stream_;
    Address local_, peer_;
    Joins joins_;
    std::string outgoing_;
    std::string incoming_;
    bool writing_blocked_ = false;  // by TLS or the socket: wait for room
    session::ReplyParser parser_;
    session::ReplyReader lines_;
    int login_replies_ = 0;  // still to come
    bool logged_in_ = false;
};

// An unwelcome reply as an Error about `path`.
Error refusal(const session::Reply& reply, Fault fault, const std::string& path);

}  // namespace lambda::client
