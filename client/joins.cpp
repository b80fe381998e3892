#include "client/joins.h"

#include <algorithm>

#include "client/dial.h"
#include "client/waiting.h"
#include "common/session/command.h"

namespace lambda::client {
namespace {

// A SYN lost three times (1 + 2 + 4 s), and the handshake on a long path.
constexpr Duration kJoinTimeout = std::chrono::seconds(10);

Error failed(Fault fault, std::string message) {
    return Error{.fault = fault,
                 .message = "cannot join a stripe: " + std::move(message),
                 .path = {},
                 .side = Side::network,
                 .remedy = {}};
}

}  // namespace

Joins::Joins(Target target, io::TlsContext context, Handlers handlers)
    : target_(std::move(target)), context_(std::move(context)), handlers_(std::move(handlers)) {}

void Joins::begin(std::uint16_t stripe, std::uint32_t epoch) {
    auto socket = begin_connection(target_.peer);
    if (!socket) {
        handlers_.failed(stripe, epoch, failed(Fault::cut, socket.error().message));
        return;
    }
    const auto request =
        session::format_command({.verb = "JOIN",
                                 .argument = session::format_join(
                                     {.token = target_.token, .stripe = stripe, .epoch = epoch})});
    LAMBDA_ASSERT(request.ok());
    auto attempt = std::make_unique<Attempt>();
    attempt->stripe = stripe;
    attempt->epoch = epoch;
    attempt->deadline = now() + kJoinTimeout;
    attempt->socket = *std::move(socket);
    attempt->request = *request;
    attempts_.push_back(std::move(attempt));
}

void Joins::advance() {
    std::erase_if(attempts_, [this](const auto& attempt) { return !advance(*attempt); });
}

void Joins::add_to(std::vector<pollfd>& sockets) const {
    for (const auto& attempt : attempts_) {
        sockets.push_back({.fd = attempt->fd(), .events = attempt->events, .revents = 0});
    }
}

Time Joins::deadline() const {
    Time first = kNever;
    for (const auto& attempt : attempts_) first = std::min(first, attempt->deadline);
    return first;
}

bool Joins::advance(Attempt& attempt) {
    for (;;) {
        const auto stepped = step(attempt);
        if (!stepped) {
            handlers_.failed(attempt.stripe, attempt.epoch, stepped.error());
            return false;
        }
        if (*stepped == Step::joined) {
            handlers_.joined(attempt.stripe, attempt.epoch, *std::move(attempt.stream));
            return false;
        }
        if (*stepped == Step::on) continue;
        if (now() < attempt.deadline) return true;
        handlers_.failed(attempt.stripe, attempt.epoch, failed(Fault::cut, "no answer in time"));
        return false;
    }
}

Result<Joins::Step> Joins::step(Attempt& attempt) {
    switch (attempt.phase) {
        case Phase::connecting:
            return connect(attempt);
        case Phase::handshaking: {
            const io::IoStatus status = attempt.stream->handshake();
            if (status == io::IoStatus::ok) {
                attempt.phase = Phase::asking;
                return Step::on;
            }
            attempt.events = status == io::IoStatus::want_write ? POLLOUT : POLLIN;
            if (status == io::IoStatus::closed) return failed(Fault::cut, "the server hung up");
            if (status != io::IoStatus::failed) return Step::waits;
            const bool other_key = !attempt.stream->peer_fingerprint().empty();
            return failed(other_key ? Fault::session : Fault::cut, attempt.stream->error());
        }
        case Phase::asking:
            return ask(attempt);
        case Phase::listening:
            return listen(attempt);
    }
    LAMBDA_ASSERT(false);
}

Result<Joins::Step> Joins::connect(Attempt& attempt) {
    pollfd socket{.fd = attempt.socket.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&socket, 1, 0) != 1) return Step::waits;
    if (const int error = connection_error(socket.fd); error != 0) {
        return failed(Fault::cut, errno_error(Fault::cut, "TCP", {}, error).message);
    }
    attempt.stream = io::TlsStream::client(context_, attempt.socket.release(), target_.host);
    attempt.phase = Phase::handshaking;
    return Step::on;
}

Result<Joins::Step> Joins::ask(Attempt& attempt) {
    std::size_t written = 0;
    const auto bytes = std::as_bytes(std::span(attempt.request));
    const io::IoStatus status = attempt.stream->write(bytes, written);
    attempt.request.erase(0, written);
    if (attempt.request.empty()) {
        attempt.phase = Phase::listening;
        return Step::on;
    }
    if (status == io::IoStatus::closed || status == io::IoStatus::failed) {
        return failed(Fault::cut, attempt.stream->error());
    }
    attempt.events = status == io::IoStatus::want_read ? POLLIN : POLLOUT;
    return status == io::IoStatus::ok ? Step::on : Step::waits;
}

// Byte by byte: what stands behind the 200 is the feedback channel's.
Result<Joins::Step> Joins::listen(Attempt& attempt) {
    std::byte byte{};
    std::size_t got = 0;
    const io::IoStatus status = attempt.stream->read({&byte, 1}, got);
    if (status == io::IoStatus::closed) return failed(Fault::cut, "the server hung up");
    if (status == io::IoStatus::failed) return failed(Fault::cut, attempt.stream->error());
    if (status != io::IoStatus::ok) {
        attempt.events = status == io::IoStatus::want_write ? POLLOUT : POLLIN;
        return Step::waits;
    }
    attempt.parser.feed({reinterpret_cast<const char*>(&byte), 1});
    const auto reply = attempt.parser.next();
    if (!reply) return failed(Fault::session, reply.error().message);
    if (!*reply) return Step::on;
    const int code = (*reply)->code;
    if (!attempt.greeted && code == 220) {
        attempt.greeted = true;
        return Step::on;
    }
    if (attempt.greeted && code == 200) return Step::joined;
    return failed(code >= 500 ? Fault::session : Fault::cut,
                  std::to_string(code) + " " + (*reply)->text());
}

}  // namespace lambda::client
