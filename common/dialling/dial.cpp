#include "common/dialling/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "common/dialling/resolve.h"
#include "common/io/net/socket_address.h"

namespace lambda::dialling {
namespace {

// RFC 8305 §5, "Connection Attempt Delay".
constexpr Duration kNextAttempt = std::chrono::milliseconds(250);

// A peer that died without a word is noticed after 30 + 6 × 10 seconds. A path that loses a tenth
// of what is sent one way loses six answers in a row once in a million times; three, in each hour
// of a transfer one time in ten.
constexpr int kKeepAliveIdle_s = 30;
constexpr int kKeepAliveInterval_s = 10;
constexpr int kKeepAliveProbes = 6;

Result<std::vector<Address>> allowed_addresses(const HostPort& server, Time deadline,
                                               const Interruption& interruption,
                                               const MayDial& may_dial) {
    auto addresses = resolve(server, deadline, interruption);
    if (!addresses || !may_dial) return addresses;
    std::erase_if(*addresses, [&](const Address& address) { return !may_dial(address); });
    if (!addresses->empty()) return addresses;
    return no_connection(server, "its address may not be dialled from here",
                         "let copy_hosts (--copy-host) of the server that dials have it");
}

Dialled standing(io::Descriptor socket, const Address& peer) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length);
    return Dialled{.socket = std::move(socket), .local = io::address_of(storage), .peer = peer};
}

struct Attempt {
    io::Descriptor socket;
    Address to;
};

// Takes out of `attempts` what has been decided; a connection that stands is returned.
std::optional<Dialled> collect(std::vector<Attempt>& attempts, std::vector<pollfd>& sockets,
                               int& last_error) {
    for (std::size_t i = attempts.size(); i-- > 0;) {
        if (sockets[i].revents == 0) continue;
        const int error = connection_error(attempts[i].socket.get());
        if (error == 0) return standing(std::move(attempts[i].socket), attempts[i].to);
        last_error = error;
        attempts.erase(attempts.begin() + static_cast<std::ptrdiff_t>(i));
        sockets.erase(sockets.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return std::nullopt;
}

}  // namespace

std::string HostPort::text() const {
    const bool brackets = host.find(':') != std::string::npos;
    return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Error no_connection(const HostPort& server, const std::string& why, std::string remedy) {
    return Error{.fault = Fault::session,
                 .message = "cannot connect to " + server.text() + ": " + why,
                 .path = {},
                 .side = Side::network,
                 .remedy = std::move(remedy)};
}

int connection_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    return error;
}

Result<io::Descriptor> begin_connection(const Address& to) {
    const io::SocketAddress name(to, is_ipv4(to.ip) ? AF_INET : AF_INET6);
    io::Descriptor socket(
        ::socket(name.get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    if (!socket) return errno_error(Fault::session, "cannot open a socket", {}, errno);
    const auto set = [&](int level, int option, int value) {
        ::setsockopt(socket.get(), level, option, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdle_s);
    set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveInterval_s);
    set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
    if (::connect(socket.get(), name.get(), name.length) != 0 && errno != EINPROGRESS) {
        Error error = errno_error(Fault::session, "cannot connect", {}, errno);
        error.side = Side::network;
        return error;
    }
    return socket;
}

Result<Dialled> dial(const HostPort& server, Time deadline, const Interruption& interruption,
                     const MayDial& may_dial) {
    const auto addresses = allowed_addresses(server, deadline, interruption, may_dial);
    if (!addresses) return addresses.error();
    std::vector<Attempt> attempts;
    std::string why = "no address";
    std::size_t next = 0;
    for (Time next_at = now();;) {
        if (next < addresses->size() && (attempts.empty() || now() >= next_at)) {
            const Address& to = (*addresses)[next++];
            next_at = now() + kNextAttempt;
            auto socket = begin_connection(to);
            if (socket) {
                attempts.push_back({*std::move(socket), to});
            } else {
                why = socket.error().message;
            }
            continue;
        }
        if (attempts.empty()) {
            return no_connection(server, why,
                                 "check that lambda-ftpd runs there and the port is open");
        }
        std::vector<pollfd> sockets;
        sockets.reserve(attempts.size() + 1);
        for (const Attempt& attempt : attempts) {
            sockets.push_back({.fd = attempt.socket.get(), .events = POLLOUT, .revents = 0});
        }
        sockets.push_back({.fd = interruption.fd(), .events = POLLIN, .revents = 0});
        poll_until(sockets, next < addresses->size() ? std::min(next_at, deadline) : deadline);
        if (interruption.raised()) return interruption_error();
        int error = 0;
        if (auto dialled = collect(attempts, sockets, error)) return *std::move(dialled);
        if (error != 0) why = std::strerror(error);
        if (now() >= deadline) {
            return no_connection(server, "no answer in time",
                                 "check that a firewall lets the port through");
        }
    }
}

}  // namespace lambda::dialling
