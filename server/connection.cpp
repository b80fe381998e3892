#include "server/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>

#include "common/io/net/socket_address.h"

namespace lambda::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using io::IoStatus;

// A peer that vanished is noticed within two minutes, also while a transfer holds the idle time;
// one behind a path that loses a tenth is not taken for one.
template <int name>
using TcpOption = asio::detail::socket_option::integer<IPPROTO_TCP, name>;
using KeepIdle = TcpOption<TCP_KEEPIDLE>;       // seconds
using KeepInterval = TcpOption<TCP_KEEPINTVL>;  // seconds
using KeepCount = TcpOption<TCP_KEEPCNT>;
constexpr std::uint32_t kVanished_ms = 120'000;

// What a recv or send that moved nothing means.
IoStatus status_of(ssize_t moved, IoStatus want) {
    if (moved == 0) return IoStatus::closed;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? want : IoStatus::failed;
}

bool wants(IoStatus status) {
    return status == IoStatus::want_read || status == IoStatus::want_write;
}

}  // namespace

Address address_of(const tcp::endpoint& endpoint) {
    sockaddr_storage storage{};
    std::memcpy(&storage, endpoint.data(), endpoint.size());
    return io::address_of(storage);
}

Connection::Connection(tcp::socket socket)
    : socket_(std::move(socket)), waiter_(std::make_shared<Waiter>(socket_.get_executor())) {
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    socket_.set_option(KeepIdle(48), ignored);
    socket_.set_option(KeepInterval(12), ignored);
    socket_.set_option(KeepCount(6), ignored);
}

Connection::~Connection() {
    waiter_->timer.cancel();
    // The stream closes the descriptor.
    boost::system::error_code ignored;
    if (stream_) socket_.release(ignored);
}

Address Connection::local() const {
    boost::system::error_code ignored;
    return address_of(socket_.local_endpoint(ignored));
}

Address Connection::peer() const {
    boost::system::error_code ignored;
    return address_of(socket_.remote_endpoint(ignored));
}

bool Connection::peer_vanished() {
    tcp_info info{};
    socklen_t size = sizeof info;
    return ::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_retransmits > 0 && info.tcpi_last_ack_recv > kVanished_ms;
}

void Connection::set_deadline(Deadline deadline) {
    waiter_->deadline = deadline;
}

void Connection::wake() {
    waiter_->woken = true;
    waiter_->timer.cancel();
}

IoStatus Connection::peek_first(std::byte& first) {
    const ssize_t got = ::recv(socket_.native_handle(), &first, 1, MSG_PEEK);
    return got == 1 ? IoStatus::ok : status_of(got, IoStatus::want_read);
}

IoStatus Connection::read_plain(session::LineFramer& framer) {
    std::array<char, session::kMaxLine> bytes;
    const int fd = socket_.native_handle();
    const ssize_t seen = ::recv(fd, bytes.data(), bytes.size(), MSG_PEEK);
    if (seen <= 0) return status_of(seen, IoStatus::want_read);
    const char* const end = std::find(bytes.data(), bytes.data() + seen, '\n');
    const bool whole = end != bytes.data() + seen;
    const auto length = static_cast<std::size_t>(end - bytes.data()) + (whole ? 1 : 0);
    const ssize_t got = ::recv(fd, bytes.data(), length, 0);
    if (got <= 0) return status_of(got, IoStatus::want_read);
    framer.feed({bytes.data(), static_cast<std::size_t>(got)});
    return IoStatus::ok;
}

void Connection::start_tls(const io::TlsContext& context) {
    stream_ = io::TlsStream::server(context, socket_.native_handle());
}

IoStatus Connection::read(std::string& into, std::size_t most) {
    const std::size_t before = into.size();
    into.resize(before + most);
    std::size_t got = 0;
    const IoStatus status =
        stream_->read(std::as_writable_bytes(std::span(into.data() + before, most)), got);
    into.resize(before + (status == IoStatus::ok ? got : 0));
    return status;
}

asio::awaitable<Connection::Wait> Connection::wait(IoStatus status) {
    const std::shared_ptr<Waiter> waiter = waiter_;
    arm(status);
    for (;;) {
        if (std::exchange(waiter->woken, false)) co_return Wait::woken;
        if (status == IoStatus::want_read && waiter->readable) co_return Wait::ready;
        if (status == IoStatus::want_write && waiter->writable) co_return Wait::ready;
        if (asio::steady_timer::clock_type::now() >= waiter->deadline) co_return Wait::deadline;
        waiter->timer.expires_at(waiter->deadline);
        boost::system::error_code ignored;
        co_await waiter->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

asio::awaitable<Connection::Wait> Connection::take_turns() {
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    const bool late = asio::steady_timer::clock_type::now() >= waiter_->deadline;
    co_return late ? Wait::deadline : Wait::ready;
}

void Connection::arm(IoStatus status) {
    const bool read = status == IoStatus::want_read;
    bool Waiter::*const armed = read ? &Waiter::read_armed : &Waiter::write_armed;
    bool Waiter::*const ready = read ? &Waiter::readable : &Waiter::writable;
    if (!wants(status)) return;
    (*waiter_).*ready = false;
    if ((*waiter_).*armed) return;
    (*waiter_).*armed = true;
    socket_.async_wait(read ? tcp::socket::wait_read : tcp::socket::wait_write,
                       [waiter = waiter_, armed, ready](const boost::system::error_code&) {
                           (*waiter).*armed = false;
                           (*waiter).*ready = true;
                           waiter->timer.cancel();
                       });
}

asio::awaitable<bool> Connection::flush(std::string& out) {
    std::size_t done = 0;
    while (done < out.size()) {
        std::size_t written = 0;
        const IoStatus status = write_some(std::string_view(out).substr(done), written);
        if (status == IoStatus::ok) {
            done += written;
            continue;
        }
        if (!wants(status) || co_await wait(status) == Wait::deadline) co_return false;
    }
    out.clear();
    co_return true;
}

IoStatus Connection::write_some(std::string_view bytes, std::size_t& written) {
    if (stream_) return stream_->write(std::as_bytes(std::span(bytes)), written);
    const ssize_t sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return status_of(sent, IoStatus::want_write);
    written = static_cast<std::size_t>(sent);
    return IoStatus::ok;
}

asio::awaitable<bool> Connection::handshake() {
    for (;;) {
        const IoStatus status = stream_->handshake();
        if (status == IoStatus::ok) co_return true;
        if (!wants(status) || co_await wait(status) != Wait::ready) co_return false;
    }
}

io::TlsStream Connection::release() {
    boost::system::error_code ignored;
    socket_.release(ignored);
    io::TlsStream stream = std::move(*stream_);
    stream_.reset();
    return stream;
}

}  // namespace lambda::server
