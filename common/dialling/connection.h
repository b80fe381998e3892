// A control session with a server, seen by the end that dialled: connected, encrypted, the key
// known. Commands are queued and go out together, so that a session costs as few round trips as it
// can. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/address.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/dialling/dial.h"
#include "common/dialling/joins.h"
#include "common/dialling/waiting.h"
#include "common/io/tls/tls.h"
#include "common/session/command.h"
#include "common/session/reply.h"

namespace lambda::dialling {

class Connection {
  public:
    struct Call {
        HostPort server;
        MayDial may_dial;
        io::ClientTrust trust;
        // Where `trust` accepts unknown keys: judges the one that is shown, before anything is
        // said.
        std::function<Result<void>(const io::Fingerprint& shown)> check_key;
        std::uint16_t stripes = 0;  // of the transfer that it is for, connected ahead
    };
    // `interruption` ends its waits. Errors before the login is answered are Fault::session, after
    // it Fault::cut.
    static Result<std::unique_ptr<Connection>> open(const Call& call, Interruption interruption);
    ~Connection();  // says QUIT without waiting for an answer

    // Queues a command; the next receive(), poll() or flush() sends it. Fault::usage for an
    // argument that cannot stand on a line.
    Result<void> send(const std::string& verb, const std::string& argument = {});
    // What is queued, as far as it goes without waiting; for who lets the server wait.
    Result<void> flush() { return move_bytes(); }
    // The replies of the commands queued so far are the login's: so many, each positive, the last
    // below 300. `remedy` is what to do where they are not.
    void expect_login(int replies, std::string remedy);

    static constexpr Duration kReplyTimeout = std::chrono::seconds(60);
    // The next reply, whatever its code. The login's own replies are taken first; a refused login
    // is an error, and so is 421.
    Result<session::Reply> receive(Duration timeout = kReplyTimeout);
    // Likewise, of what takes as long as it takes: the server is asked by NOOP whether it is there
    // each time that nothing came for so long, and has as long to answer that. Not where a command
    // that it answers by 200 is on its way.
    Result<session::Reply> receive_slow(Duration patience = kReplyTimeout);
    // More than any directory has names.
    static constexpr std::size_t kMostLines = 100'000'000;
    // Likewise, but each line goes to `take` as it comes and is not kept. Returns the last one.
    // Beyond kMostLines the session is lost.
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
    const Address& local() const { return local_; }
    const Address& peer() const { return peer_; }
    // The least that the session's own connection took for one, to its handshake on; nothing: the
    // kernel does not say.
    std::optional<Duration> round_trip() const;
    io::Fingerprint peer_fingerprint() const { return stream_.peer_fingerprint(); }
    const Interruption& interruption() const { return interruption_; }
    Result<std::array<std::byte, 32>> export_key(const std::string& label, ByteView context) const {
        return stream_.export_key(label, context);
    }

  private:
    struct Parts;
    explicit Connection(Parts parts);
    Result<void> trust_stripes();
    Result<void> finish_login();
    // Calls `ready` until it has something, and moves bytes in between. False: too late.
    Result<bool> wait_until(const std::function<Result<bool>()>& ready, Duration timeout);
    Result<session::Reply> next_reply(Duration timeout);
    Result<std::optional<session::Reply>> reply_within(Duration timeout);
    Result<std::optional<session::Reply>> parse_reply();
    // Sends and receives what goes without waiting.
    Result<void> move_bytes();
    Error lost(const std::string& why) const;
    Error ended(const std::string& why) const;  // by the server's 421: it has no time just now
    Error no_answer(Duration within) const;

    HostPort server_;
    Interruption interruption_;
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
    std::string login_remedy_;
    bool logged_in_ = false;
    bool asked_ = false;  // by NOOP, and not answered yet
};

// As every error writes what stands at a server: from its root on.
std::string path_at_server(const std::string& path);
// An unwelcome reply as an Error about `path`, which is written so.
Error refusal(const session::Reply& reply, Fault fault, const std::string& path);
// Of an answer that cannot be read: `why` is the parser's. Empty `path`: it is about none.
Error senseless(const Error& why, const std::string& path);

}  // namespace lambda::dialling
