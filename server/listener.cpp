#include "server/listener.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>

#include "common/dialling/waiting.h"
#include "common/io/log.h"
#include "common/io/net/socket_address.h"
#include "common/session/reply.h"
#include "config/endpoint.h"
#include "server/session.h"

namespace lambda::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// After an accept that failed for want of descriptors or memory: time for some to come free.
constexpr std::chrono::milliseconds kAcceptPause{100};

tcp::endpoint endpoint_of(const Address& address) {
    const io::SocketAddress name(address, is_ipv4(address.ip) ? AF_INET : AF_INET6);
    tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), name.get(), name.length);
    endpoint.resize(name.length);
    return endpoint;
}

Error listen_error(const Address& address, const boost::system::error_code& problem) {
    const bool no_family = problem == asio::error::address_family_not_supported ||
                           problem == boost::system::errc::address_not_available;
    return Error{.fault = no_family ? Fault::unsupported : Fault::usage,
                 .message = "cannot listen on " + config::format_endpoint(address) + ": " +
                            problem.message(),
                 .path = {},
                 .side = Side::local,
                 .remedy = "choose another by --listen ADDRESS:PORT"};
}

void warn(SparseLog& words, const Admission::Host& host, std::string text) {
    if (const auto line = words.pick(host, std::move(text), dialling::now()))
        io::log_warning(*line);
}

// Out of the loop: a bug stops the process.
void rethrow(const std::exception_ptr& problem) {
    if (problem) std::rethrow_exception(problem);
}

}  // namespace

Listener::Listener(asio::io_context& loop, Service& service) : loop_(loop), service_(service) {}

Result<Address> Listener::listen(const Address& address) {
    const tcp::endpoint endpoint = endpoint_of(address);
    tcp::acceptor acceptor(loop_);
    boost::system::error_code problem;
    acceptor.open(endpoint.protocol(), problem);
    if (!problem) acceptor.set_option(tcp::acceptor::reuse_address(true), problem);
    if (!problem && endpoint.address().is_v6()) {
        acceptor.set_option(asio::ip::v6_only(true), problem);
    }
    if (!problem) acceptor.bind(endpoint, problem);
    if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
    if (problem) return listen_error(address, problem);
    Address bound = address;
    bound.port = acceptor.local_endpoint(problem).port();
    acceptors_.push_back(std::move(acceptor));
    return bound;
}

void Listener::start() {
    for (tcp::acceptor& acceptor : acceptors_) {
        asio::co_spawn(loop_, accept(acceptor), rethrow);
    }
}

void Listener::stop() {
    boost::system::error_code ignored;
    for (tcp::acceptor& acceptor : acceptors_) acceptor.close(ignored);
    for (const std::weak_ptr<Session>& session : sessions_) {
        if (const auto alive = session.lock()) alive->stop();
    }
}

void Listener::accounts_replaced() {
    for (const std::weak_ptr<Session>& session : sessions_) {
        if (const auto alive = session.lock()) alive->accounts_replaced();
    }
}

asio::awaitable<void> Listener::accept(tcp::acceptor& acceptor) {
    while (acceptor.is_open()) {
        boost::system::error_code problem;
        try {
            tcp::socket socket =
                co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, problem));
            if (!problem) admit(std::move(socket));
        } catch (const std::bad_alloc&) {
            problem = make_error_code(boost::system::errc::not_enough_memory);
        }
        if (!problem || problem == asio::error::operation_aborted) continue;
        const Error error =
            errno_error(Fault::session, "cannot accept connections", {}, problem.value());
        warn(not_accepted_, {}, error.sentence());
        asio::steady_timer pause(loop_, kAcceptPause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, problem));
    }
}

void Listener::admit(tcp::socket socket) {
    boost::system::error_code problem;
    socket.non_blocking(true, problem);
    const Address peer = address_of(socket.remote_endpoint(problem));
    if (problem) return;
    Admission::Slot slot = service_.admission.admit(peer);
    if (!slot) {
        warn(too_many_, Admission::host_of(peer),
             "too many sessions: refused one from " + config::format_endpoint(peer));
        const std::string farewell = session::format_reply(421, "Too many sessions; try later");
        socket.write_some(asio::buffer(farewell), problem);
        return;
    }
    std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
    const auto session =
        std::make_shared<Session>(service_, std::move(socket), std::move(slot), next_session_++);
    sessions_.push_back(session);
    // The function holds the session until the coroutine has begun, and so to its end.
    asio::co_spawn(
        loop_, [session] { return session->run(); }, rethrow);
}

}  // namespace lambda::server
