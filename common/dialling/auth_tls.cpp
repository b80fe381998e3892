#include "common/dialling/auth_tls.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "common/session/reply.h"

namespace lambda::dialling {
namespace {

constexpr const char* kWhoListens = "check that lambda-ftpd listens there";

Error failed(std::string message, std::string remedy = {}) {
    return Error{.fault = Fault::session,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::network,
                 .remedy = std::move(remedy)};
}

Error later(std::string message) {
    return Error{.fault = Fault::cut,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::remote,
                 .remedy = "run the same command again later"};
}

// How long the handshake may take, and who may end it.
struct Patience {
    Time deadline;
    const Interruption& interruption;
};

Result<void> wait(int fd, short events, const Patience& patience) {
    switch (wait_for(fd, events, patience.deadline, patience.interruption)) {
        case Wait::ready:
            return {};
        case Wait::late:
            return failed("the server does not answer in time", kWhoListens);
        case Wait::interrupted:
            return interruption_error();
    }
    LAMBDA_ASSERT(false);
}

// What the stream writes first, taken from the other end of its pipe.
Result<std::string> client_hello(io::TlsStream& stream, const io::Descriptor& far_end) {
    if (stream.handshake() != io::IoStatus::want_read) {
        return failed("cannot begin TLS: " + stream.error());
    }
    std::string hello;
    std::array<char, 4096> chunk{};
    for (;;) {
        const ssize_t got = ::recv(far_end.get(), chunk.data(), chunk.size(), 0);
        if (got <= 0) return hello;
        hello.append(chunk.data(), static_cast<std::size_t>(got));
    }
}

Result<void> send_all(int fd, std::string_view bytes, const Patience& patience) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN) {
            if (auto ready = wait(fd, POLLOUT, patience); !ready) return ready;
        } else if (errno != EINTR) {
            return errno_error(Fault::session, "cannot send", {}, errno);
        }
    }
    return {};
}

// One reply, and not a byte beyond it.
Result<session::Reply> read_plain_reply(int fd, const Patience& patience) {
    session::ReplyParser parser;
    std::array<char, 4096> chunk{};
    for (;;) {
        const ssize_t seen = ::recv(fd, chunk.data(), chunk.size(), MSG_PEEK);
        if (seen == 0) return failed("the server ended the connection", kWhoListens);
        if (seen < 0 && errno == EAGAIN) {
            if (auto ready = wait(fd, POLLIN, patience); !ready) return ready.error();
            continue;
        }
        if (seen < 0 && errno == EINTR) continue;
        if (seen < 0) {
            Error error = errno_error(Fault::session, "cannot receive", {}, errno);
            error.remedy = kWhoListens;
            return error;
        }
        const std::size_t taken = parser.feed({chunk.data(), static_cast<std::size_t>(seen)});
        if (::recv(fd, chunk.data(), taken, 0) != static_cast<ssize_t>(taken)) {
            return failed("the connection lost bytes that had come");
        }
        auto reply = parser.next();
        if (!reply) return failed(reply.error().message, kWhoListens);
        if (*reply) return **std::move(reply);
    }
}

Result<void> expect(int code, int fd, const Patience& patience) {
    const auto reply = read_plain_reply(fd, patience);
    if (!reply) return reply.error();
    if (reply->code == code) return {};
    const std::string said =
        "the server refuses the session: " + std::to_string(reply->code) + " " + reply->text();
    if (reply->code >= 400 && reply->code < 500) return later(said);
    return failed(said + " (is it a lambda-ftpd?)");
}

}  // namespace

Result<io::TlsStream> begin_tls(io::Descriptor socket, const io::TlsContext& context,
                                const std::string& host, Time deadline,
                                const Interruption& interruption) {
    const Patience patience{deadline, interruption};
    // OpenSSL writes a ClientHello and reads on at once, which would swallow the plain replies that
    // come before the ServerHello. So the hello goes into a pipe of our own; the connection takes
    // the place of that pipe's end then.
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        return errno_error(Fault::session, "cannot make a socket pair", {}, errno);
    }
    const io::Descriptor far_end(ends[1]);
    io::TlsStream stream = io::TlsStream::client(context, ends[0], host);
    const auto hello = client_hello(stream, far_end);
    if (!hello) return hello.error();
    if (::dup3(socket.get(), stream.fd(), O_CLOEXEC) < 0) {
        return errno_error(Fault::session, "cannot hand the connection to TLS", {}, errno);
    }
    socket = io::Descriptor();

    const int fd = stream.fd();
    if (auto sent = send_all(fd, "AUTH TLS\r\n" + *hello, patience); !sent) {
        return sent.error();
    }
    for (const int code : {220, 234}) {
        if (auto answered = expect(code, fd, patience); !answered) return answered.error();
    }
    for (;;) {
        const io::IoStatus status = stream.handshake();
        if (status == io::IoStatus::ok) return stream;
        if (status == io::IoStatus::closed) return failed("the server ended the TLS handshake");
        if (status == io::IoStatus::failed) {
            Error error = failed(stream.error());
            if (stream.refused_peer()) error.side = Side::remote;  // no pause mends it
            return error;
        }
        const short events = status == io::IoStatus::want_read ? POLLIN : POLLOUT;
        if (auto ready = wait(fd, events, patience); !ready) return ready.error();
    }
}

}  // namespace lambda::dialling
