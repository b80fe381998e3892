#include "client/connection.h"

#include <algorithm>
#include <array>

#include "client/auth_tls.h"
#include "client/dial.h"
#include "client/password.h"
#include "client/trust.h"
#include "client/waiting.h"
#include "common/base/units.h"

namespace lambda::client {
namespace {

// TCP's three tries of a SYN (1 + 2 + 4 s) on a bad path, twice, and the handshake.
constexpr Duration kOpenTimeout = std::chrono::seconds(20);
// What may be received before the parser has taken it.
constexpr std::size_t kReadChunk = 16 * 1024;

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const Server& server, const Access& access,
                                                     const Warn& warn, std::uint16_t stripes) {
    const bool pin = access.ca.empty();
    auto context = io::TlsContext::client({.ca_file = access.ca,
                                           .pinned = std::nullopt,
                                           .accept_unknown = pin,
                                           .certificate_file = access.certificate,
                                           .key_file = access.key});
    if (!context) return context.error();
    const Time deadline = now() + kOpenTimeout;
    auto dialled = dial(server, deadline);
    if (!dialled) return dialled.error();
    Joins joins({.peer = dialled->peer, .host = server.host}, stripes);
    auto stream = begin_tls(std::move(dialled->socket), *context, server.host, deadline);
    if (!stream) {
        Error error = stream.error();
        if (error.fault == Fault::session) {
            error.message = "no session with " + server.endpoint() + ": " + error.message;
        }
        return error;
    }
    if (pin) {
        const auto trusted = check_key(KnownHosts::of_user(), server, stream->peer_fingerprint(),
                                       access.trust_new_host);
        if (!trusted) return trusted.error();
    }
    std::unique_ptr<Connection> connection(new Connection(server, *std::move(context),
                                                          *std::move(stream), dialled->local,
                                                          dialled->peer, std::move(joins)));
    if (auto trusted = connection->trust_stripes(); !trusted) return trusted.error();
    if (auto queued = connection->queue_login(access, warn); !queued) return queued.error();
    return connection;
}

Connection::Connection(const Server& server, io::TlsContext context, io::TlsStream stream,
                       const Address& local, const Address& peer, Joins joins)
    : server_(server),
      context_(std::move(context)),
      stream_(std::move(stream)),
      local_(local),
      peer_(peer),
      joins_(std::move(joins)) {}

// Each shows the key that the control session showed.
Result<void> Connection::trust_stripes() {
    io::ClientTrust trust;
    trust.pinned = stream_.peer_fingerprint();
    auto context = io::TlsContext::client(trust);
    if (!context) return context.error();
    joins_.trust(*std::move(context));
    return {};
}

Connection::~Connection() {
    constexpr std::string_view kQuit = "QUIT\r\n";
    std::size_t written = 0;
    stream_.write(std::as_bytes(std::span(kQuit)), written);
    stream_.shutdown();
}

Result<void> Connection::send(const std::string& verb, const std::string& argument) {
    auto line = session::format_command({.verb = verb, .argument = argument});
    if (!line) return line.error();
    outgoing_ += *line;
    return {};
}

Result<session::Reply> Connection::exchange(const std::string& verb, const std::string& argument) {
    if (auto queued = send(verb, argument); !queued) return queued.error();
    return receive();
}

Result<session::Reply> Connection::receive(Duration timeout) {
    if (auto login = finish_login(); !login) return login.error();
    return next_reply(timeout);
}

Result<session::ReplyLine> Connection::receive_lines(
    const std::function<void(const session::ReplyLine&)>& take) {
    if (auto login = finish_login(); !login) return login.error();
    std::optional<session::ReplyLine> line;
    const auto ready = [&]() -> Result<bool> {
        incoming_.erase(0, lines_.feed(incoming_));
        auto next = lines_.next();
        if (!next) return lost(next.error().message);
        line = *std::move(next);
        return line.has_value();
    };
    for (;;) {
        if (auto waited = wait_until(ready, kReplyTimeout); !waited) return waited.error();
        if (line->first && line->code == 421) return lost(line->text);
        if (line->last) return *std::move(line);
        take(*line);
    }
}

Result<std::optional<session::Reply>> Connection::poll() {
    auto reply = parse_reply();
    if (!reply || *reply) return reply;
    if (auto moved = move_bytes(); !moved) return moved.error();
    return parse_reply();
}

short Connection::events() const {
    return static_cast<short>(outgoing_.empty() && !writing_blocked_ ? POLLIN : POLLIN | POLLOUT);
}

Result<void> Connection::queue_login(const Access& access, const Warn& warn) {
    if (!access.certificate.empty()) {
        login_replies_ = 1;
        return send("USER", find_user(server_));
    }
    const auto login = find_login(server_, access.password_file, warn);
    if (!login) return login.error();
    login_replies_ = 2;
    auto queued = send("USER", login->user);
    if (queued) queued = send("PASS", login->password);
    if (queued) return {};
    return Error{.fault = Fault::usage,  // without the argument: it may be the password
                 .message = "the user's name or password has a line end or is too long",
                 .path = {},
                 .side = Side::local,
                 .remedy = {}};
}

Result<void> Connection::finish_login() {
    const bool by_certificate = login_replies_ == 1;
    for (; login_replies_ > 0; --login_replies_) {
        const auto reply = next_reply(kReplyTimeout);
        if (!reply) return reply.error();
        if (!reply->positive() || (login_replies_ == 1 && reply->code >= 300)) {
            return Error{.fault = Fault::session,
                         .message = "login refused by " + server_.endpoint() + ": " +
                                    std::to_string(reply->code) + " " + reply->text(),
                         .path = {},
                         .side = Side::remote,
                         .remedy = by_certificate
                                       ? "check that the server takes this --certificate for "
                                         "this user"
                                       : "check the user's name and password"};
        }
    }
    logged_in_ = true;
    return {};
}

Result<void> Connection::wait_until(const std::function<Result<bool>()>& ready, Duration timeout) {
    const Time deadline = now() + timeout;
    for (;;) {
        const auto there = ready();
        if (!there) return there.error();
        if (*there) return {};
        const std::size_t before = incoming_.size();
        if (auto moved = move_bytes(); !moved) return moved;
        if (incoming_.size() != before) continue;
        std::vector<pollfd> sockets = {{.fd = fd(), .events = events(), .revents = 0},
                                       {.fd = interruption_fd(), .events = POLLIN, .revents = 0}};
        joins_.add_to(sockets);
        poll_until(sockets, std::min(deadline, joins_.deadline()));
        if (sockets[1].revents != 0) return interruption_error();
        joins_.advance();
        if (sockets[0].revents == 0 && now() >= deadline) {
            return lost("no answer within " + format_duration(timeout));
        }
    }
}

Result<session::Reply> Connection::next_reply(Duration timeout) {
    std::optional<session::Reply> reply;
    const auto ready = [&]() -> Result<bool> {
        auto parsed = parse_reply();
        if (!parsed) return parsed.error();
        reply = *std::move(parsed);
        return reply.has_value();
    };
    if (auto waited = wait_until(ready, timeout); !waited) return waited.error();
    return *std::move(reply);
}

Result<std::optional<session::Reply>> Connection::parse_reply() {
    while (!incoming_.empty()) {
        incoming_.erase(0, parser_.feed(incoming_));
        auto reply = parser_.next();
        if (!reply) return lost(reply.error().message);
        if (!*reply) continue;
        if ((*reply)->code == 421) return lost((*reply)->text());
        return *std::move(reply);
    }
    return std::optional<session::Reply>();
}

Result<void> Connection::move_bytes() {
    writing_blocked_ = false;
    while (!outgoing_.empty()) {
        std::size_t written = 0;
        const io::IoStatus status = stream_.write(std::as_bytes(std::span(outgoing_)), written);
        if (status == io::IoStatus::failed || status == io::IoStatus::closed) {
            return lost(stream_.error());
        }
        outgoing_.erase(0, written);
        if (status != io::IoStatus::ok) {
            writing_blocked_ = true;
            break;
        }
    }
    const std::size_t before = incoming_.size();
    std::array<std::byte, kReadChunk> chunk;
    while (incoming_.size() < kReadChunk) {
        std::size_t got = 0;
        const io::IoStatus status = stream_.read(chunk, got);
        if (status == io::IoStatus::want_read || status == io::IoStatus::want_write) break;
        // What came before the end is looked at first; the next call finds the end again.
        if (status != io::IoStatus::ok && incoming_.size() != before) break;
        if (status == io::IoStatus::closed) return lost("the server ended the session");
        if (status == io::IoStatus::failed) return lost(stream_.error());
        incoming_.append(reinterpret_cast<const char*>(chunk.data()), got);
    }
    return {};
}

Error Connection::lost(const std::string& why) const {
    return Error{.fault = logged_in_ ? Fault::cut : Fault::session,
                 .message = "the session with " + server_.endpoint() + " is lost: " + why,
                 .path = {},
                 .side = Side::network,
                 .remedy = logged_in_ ? "run the same command again" : ""};
}

Error refusal(const session::Reply& reply, Fault fault, const std::string& path) {
    std::string_view text = reply.text();
    if (!path.empty() && text.starts_with(path + ": ")) text.remove_prefix(path.size() + 2);
    return Error{.fault = fault,
                 .message = std::string(text) + " (" + std::to_string(reply.code) + ")",
                 .path = path,
                 .side = Side::remote,
                 .remedy = {}};
}

}  // namespace lambda::client
