#include "common/dialling/joins.h"

#include <algorithm>
#include <utility>

#include "common/dialling/dial.h"
#include "common/dialling/waiting.h"
#include "common/session/command.h"

namespace lambda::dialling {
namespace {

// A SYN lost three times (1 + 2 + 4 s), and the handshake on a long path.
constexpr Duration kJoinTimeout = std::chrono::seconds(10);
// Of 220 and the answer to JOIN, which are a line each.
constexpr std::size_t kMostAnswer = 8192;

Error cannot_join(Fault fault, std::string message) {
    return Error{.fault = fault,
                 .message = "cannot join a stripe: " + std::move(message),
                 .path = {},
                 .side = Side::network,
                 .remedy = {}};
}

}  // namespace

Joins::Joins(Target target, std::uint16_t ahead) : target_(std::move(target)) {
    for (std::uint16_t i = 0; i < std::min(ahead, kMostAhead); ++i) {
        auto attempt = std::make_unique<Attempt>();
        attempt->ahead = true;
        if (connect_anew(*attempt)) attempts_.push_back(std::move(attempt));
    }
}

void Joins::trust(io::TlsContext context) {
    context_ = std::move(context);
    advance();
}

void Joins::open(std::string token, std::uint16_t stripes, Handlers handlers) {
    token_ = std::move(token);
    handlers_ = std::move(handlers);
    if (attempts_.size() > stripes) attempts_.resize(stripes);
}

void Joins::close() {
    attempts_.clear();
    handlers_ = {};
}

void Joins::begin(std::uint16_t stripe, std::uint32_t epoch) {
    const auto ahead =
        std::find_if(attempts_.begin(), attempts_.end(), [](const auto& a) { return !a->claimed; });
    if (ahead != attempts_.end()) return claim(**ahead, stripe, epoch);
    auto attempt = std::make_unique<Attempt>();
    claim(*attempt, stripe, epoch);
    if (auto begun = connect_anew(*attempt); !begun) {
        return handlers_.failed(cannot_join(Fault::cut, begun.error().message));
    }
    attempts_.push_back(std::move(attempt));
}

void Joins::claim(Attempt& attempt, std::uint16_t stripe, std::uint32_t epoch) {
    const auto request = session::format_command(
        {.verb = "JOIN",
         .argument = session::format_join({.token = token_, .stripe = stripe, .epoch = epoch})});
    LAMBDA_ASSERT(request.ok());
    attempt.claimed = true;
    attempt.stripe = stripe;
    attempt.epoch = epoch;
    attempt.request = *request;
    attempt.deadline = now() + kJoinTimeout;
}

Result<void> Joins::connect_anew(Attempt& attempt) {
    auto socket = begin_connection(target_.peer);
    if (!socket) return socket.error();
    attempt.stream.reset();
    attempt.socket = *std::move(socket);
    attempt.phase = Phase::connecting;
    attempt.events = POLLOUT;
    attempt.deadline = now() + kJoinTimeout;
    return {};
}

void Joins::advance() {
    std::erase_if(attempts_, [this](const auto& attempt) { return !advance(*attempt); });
}

void Joins::add_to(std::vector<pollfd>& sockets) const {
    for (const auto& attempt : attempts_) {
        if (!attempt->rests) {
            sockets.push_back({.fd = attempt->fd(), .events = attempt->events, .revents = 0});
        }
    }
}

Time Joins::deadline() const {
    Time first = kNever;
    for (const auto& attempt : attempts_) {
        if (!attempt->rests) first = std::min(first, attempt->deadline);
    }
    return first;
}

bool Joins::advance(Attempt& attempt) {
    for (;;) {
        attempt.rests = false;
        const auto stepped = step(attempt);
        if (!stepped) {
            if (!failed(attempt, stepped.error())) return false;
            continue;
        }
        if (*stepped == Step::joined) {
            handlers_.joined(attempt.stripe, attempt.epoch, *std::move(attempt.stream));
            return false;
        }
        if (*stepped == Step::on) continue;
        if (attempt.rests || now() < attempt.deadline) return true;
        if (!failed(attempt, cannot_join(Fault::cut, "no answer in time"))) return false;
    }
}

// True: another connection was begun in its place.
bool Joins::failed(Attempt& attempt, const Error& error) {
    if (!attempt.claimed) return false;
    // Another key stays another key.
    const bool replaced = std::exchange(attempt.ahead, false) && error.fault != Fault::session &&
                          connect_anew(attempt).ok();
    if (!replaced) handlers_.failed(error);
    return replaced;
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
            if (status == io::IoStatus::closed)
                return cannot_join(Fault::cut, "the server hung up");
            if (status != io::IoStatus::failed) return Step::waits;
            const bool other_key = !attempt.stream->peer_fingerprint().empty();
            Error error =
                cannot_join(other_key ? Fault::session : Fault::cut, attempt.stream->error());
            if (!other_key) {
                error.remedy =
                    "see the server's log: it may have too many sessions (its sessions_max, "
                    "sessions_per_address)";
            }
            return error;
        }
        case Phase::asking:
            return attempt.claimed ? ask(attempt) : rest(attempt);
        case Phase::listening:
            return listen(attempt);
    }
    LAMBDA_ASSERT(false);
}

Joins::Step Joins::rest(Attempt& attempt) {
    attempt.rests = true;
    return Step::waits;
}

Result<Joins::Step> Joins::connect(Attempt& attempt) {
    pollfd socket{.fd = attempt.socket.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&socket, 1, 0) != 1) return Step::waits;
    if (const int error = connection_error(socket.fd); error != 0) {
        return cannot_join(Fault::cut, errno_error(Fault::cut, "TCP", {}, error).message);
    }
    if (!context_) return rest(attempt);
    attempt.stream = io::TlsStream::client(*context_, attempt.socket.release(), target_.host);
    attempt.phase = Phase::handshaking;
    return Step::on;
}

Result<Joins::Step> Joins::ask(Attempt& attempt) {
    std::size_t written = 0;
    const auto bytes = std::as_bytes(std::span(attempt.request));
    const io::IoStatus status = attempt.stream->write(bytes, written);
    attempt.request.erase(0, written);
    if (written > 0) attempt.ahead = false;
    if (attempt.request.empty()) {
        attempt.phase = Phase::listening;
        return Step::on;
    }
    if (status == io::IoStatus::closed || status == io::IoStatus::failed) {
        return cannot_join(Fault::cut, attempt.stream->error());
    }
    attempt.events = status == io::IoStatus::want_read ? POLLIN : POLLOUT;
    return status == io::IoStatus::ok ? Step::on : Step::waits;
}

// Byte by byte: what stands behind the 200 is the feedback channel's.
Result<Joins::Step> Joins::listen(Attempt& attempt) {
    std::byte byte{};
    std::size_t got = 0;
    const io::IoStatus status = attempt.stream->read({&byte, 1}, got);
    if (status == io::IoStatus::closed) return cannot_join(Fault::cut, "the server hung up");
    if (status == io::IoStatus::failed) return cannot_join(Fault::cut, attempt.stream->error());
    if (status != io::IoStatus::ok) {
        attempt.events = status == io::IoStatus::want_write ? POLLOUT : POLLIN;
        return Step::waits;
    }
    if (++attempt.heard > kMostAnswer) return cannot_join(Fault::session, "the answer has no end");
    attempt.parser.feed({reinterpret_cast<const char*>(&byte), 1});
    const auto reply = attempt.parser.next();
    if (!reply) return cannot_join(Fault::session, reply.error().message);
    if (!*reply) return Step::on;
    const int code = (*reply)->code;
    if (!attempt.greeted && code == 220) {
        attempt.greeted = true;
        return Step::on;
    }
    if (attempt.greeted && code == 200) return Step::joined;
    return cannot_join(code >= 500 ? Fault::session : Fault::cut,
                       std::to_string(code) + " " + (*reply)->text());
}

}  // namespace lambda::dialling
