#include "common/dialling/connection.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "common/base/units.h"
#include "common/dialling/auth_tls.h"
#include "common/dialling/line_pace.h"

namespace lambda::dialling {
namespace {

// TCP's three tries of a SYN (1 + 2 + 4 s) on a bad path, twice, and the handshake.
constexpr Duration kOpenTimeout = std::chrono::seconds(20);
// What may be received before the parser has taken it.
constexpr std::size_t kReadChunk = 16 * 1024;
// Chunks that are taken behind a deadline: of who was stopped himself the answer lies there.
constexpr unsigned kMostLate = 64;
constexpr const char* kLater = "run the same command again later";

}  // namespace

struct Connection::Parts {
    HostPort server;
    Interruption interruption;
    io::TlsContext context;
    io::TlsStream stream;
    Address local, peer;
    Joins joins;
};

Result<std::unique_ptr<Connection>> Connection::open(const Call& call, Interruption interruption) {
    auto context = io::TlsContext::client(call.trust);
    if (!context) return context.error();
    const Time deadline = now() + kOpenTimeout;
    auto dialled = dial(call.server, deadline, interruption, call.may_dial);
    if (!dialled) return dialled.error();
    Joins joins({.peer = dialled->peer, .host = call.server.host}, call.stripes);
    auto stream =
        begin_tls(std::move(dialled->socket), *context, call.server.host, deadline, interruption);
    if (!stream) {
        Error error = stream.error();
        if (error.fault == Fault::session || error.side == Side::remote) {
            error.message = "no session with " + call.server.text() + ": " + error.message;
        }
        return error;
    }
    if (call.check_key) {
        const auto trusted = call.check_key(stream->peer_fingerprint());
        if (!trusted) return trusted.error();
    }
    std::unique_ptr<Connection> connection(
        new Connection({call.server, interruption, *std::move(context), *std::move(stream),
                        dialled->local, dialled->peer, std::move(joins)}));
    if (auto trusted = connection->trust_stripes(); !trusted) return trusted.error();
    return connection;
}

Connection::Connection(Parts parts)
    : server_(std::move(parts.server)),
      interruption_(parts.interruption),
      context_(std::move(parts.context)),
      stream_(std::move(parts.stream)),
      local_(parts.local),
      peer_(parts.peer),
      joins_(std::move(parts.joins)) {}

std::optional<Duration> Connection::round_trip() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(fd(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
    const bool known = size >= offsetof(tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt &&
                       info.tcpi_min_rtt > 0 && info.tcpi_min_rtt != ~0U;
    return known ? std::optional<Duration>(std::chrono::microseconds(info.tcpi_min_rtt))
                 : std::nullopt;
}

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

Result<session::Reply> Connection::receive_slow(Duration patience) {
    if (auto login = finish_login(); !login) return login.error();
    for (;;) {
        auto reply = reply_within(patience);
        if (!reply) return reply.error();
        if (*reply) return **std::move(reply);
        if (asked_) return no_answer(patience);
        if (auto queued = send("NOOP"); !queued) return queued.error();
        asked_ = true;
    }
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
    LinePace pace(now(), kReplyTimeout);
    for (std::size_t lines = 0; lines < kMostLines; ++lines) {
        const Duration left = std::max(pace.deadline() - now(), Duration{});
        const auto there = wait_until(ready, left);
        if (!there) return there.error();
        if (!*there) return no_answer(left);
        pace.came(now());
        if (line->first && line->code == 421) return ended(line->text);
        if (line->last) return *std::move(line);
        take(*line);
    }
    return lost("its answer has more than " + std::to_string(kMostLines) + " lines");
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

void Connection::expect_login(int replies, std::string remedy) {
    login_replies_ = replies;
    login_remedy_ = std::move(remedy);
}

Result<void> Connection::finish_login() {
    for (; login_replies_ > 0; --login_replies_) {
        const auto reply = next_reply(kReplyTimeout);
        if (!reply) return reply.error();
        const bool goes_on = login_replies_ > 1 && reply->code >= 300 && reply->code < 400;
        if (!reply->positive() && !goes_on) {
            const bool later = reply->code >= 400 && reply->code < 500;  // too busy to look
            return Error{.fault = later ? Fault::cut : Fault::session,
                         .message = "login refused by " + server_.text() + ": " +
                                    std::to_string(reply->code) + " " + reply->text(),
                         .path = {},
                         .side = Side::remote,
                         .remedy = later ? kLater : login_remedy_};
        }
    }
    logged_in_ = true;
    return {};
}

Result<bool> Connection::wait_until(const std::function<Result<bool>()>& ready, Duration timeout) {
    const Time deadline = now() + timeout;
    for (unsigned late = 0;;) {
        const auto there = ready();
        if (!there) return there.error();
        if (*there) return true;
        const std::size_t before = incoming_.size();
        if (auto moved = move_bytes(); !moved) return moved.error();
        if (incoming_.size() != before) {
            // Who never stops talking is left all the same.
            if (interruption_.raised()) return interruption_error();
            if (now() < deadline || ++late < kMostLate) continue;
            return false;
        }
        std::vector<pollfd> sockets = {{.fd = fd(), .events = events(), .revents = 0},
                                       {.fd = interruption_.fd(), .events = POLLIN, .revents = 0}};
        joins_.add_to(sockets);
        poll_until(sockets, std::min(deadline, joins_.deadline()));
        if (sockets[1].revents != 0) return interruption_error();
        joins_.advance();
        if (sockets[0].revents == 0 && now() >= deadline) return false;
    }
}

Result<session::Reply> Connection::next_reply(Duration timeout) {
    auto reply = reply_within(timeout);
    if (!reply) return reply.error();
    if (!*reply) return no_answer(timeout);
    return **std::move(reply);
}

Result<std::optional<session::Reply>> Connection::reply_within(Duration timeout) {
    std::optional<session::Reply> reply;
    const auto ready = [&]() -> Result<bool> {
        auto parsed = parse_reply();
        if (!parsed) return parsed.error();
        reply = *std::move(parsed);
        return reply.has_value();
    };
    if (auto waited = wait_until(ready, timeout); !waited) return waited.error();
    return reply;
}

Result<std::optional<session::Reply>> Connection::parse_reply() {
    while (!incoming_.empty()) {
        incoming_.erase(0, parser_.feed(incoming_));
        auto reply = parser_.next();
        if (!reply) return lost(reply.error().message);
        if (!*reply) continue;
        if ((*reply)->code == 421) return ended((*reply)->text());
        if ((*reply)->code == 200 && std::exchange(asked_, false)) continue;
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
                 .message = "the session with " + server_.text() + " is lost: " + why,
                 .path = {},
                 .side = Side::network,
                 .remedy = logged_in_ ? "run the same command again" : ""};
}

Error Connection::ended(const std::string& why) const {
    Error error = lost(why);
    if (logged_in_) return error;
    error.fault = Fault::cut;
    error.side = Side::remote;
    error.remedy = kLater;
    return error;
}

Error Connection::no_answer(Duration within) const {
    return lost("no answer within " + format_duration(within));
}

std::string path_at_server(const std::string& path) {
    return path.empty() || path.starts_with('/') ? path : "/" + path;
}

namespace {

// What stands behind the name, which a server may write from its root on or as it was asked.
std::string_view without_name(std::string_view text, const std::string& path) {
    for (const std::string& name : {path_at_server(path), path}) {
        const std::string shown = session::on_one_line(name) + ": ";
        if (!name.empty() && text.starts_with(shown)) return text.substr(shown.size());
    }
    return text;
}

}  // namespace

Error senseless(const Error& why, const std::string& path) {
    return Error{.fault = Fault::protocol,
                 .message = "what the server tells makes no sense: " + why.message,
                 .path = path.empty() ? path : path_at_server(path),
                 .side = Side::remote,
                 .remedy = "use the same version at both ends"};
}

Error refusal(const session::Reply& reply, Fault fault, const std::string& path) {
    const bool unspeakable = path.find_first_of("\r\n") != path.npos;
    if (unspeakable && (reply.code == 500 || reply.code == 502)) {
        return Error{.fault = Fault::unsupported,
                     .message = "this server can be asked for no name with a line break in it",
                     .path = path_at_server(path),
                     .side = Side::remote,
                     .remedy = "use a newer server, or give it another name there"};
    }
    return Error{.fault = fault,
                 .message = std::string(without_name(reply.text(), path)) + " (" +
                            std::to_string(reply.code) + ")",
                 .path = path_at_server(path),
                 .side = Side::remote,
                 .remedy = {}};
}

}  // namespace lambda::dialling
