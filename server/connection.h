// One connection of the control port, plain at first, then TLS, seen by a coroutine of the loop's
// thread: it tries, and where nothing moves it waits for the socket, for a call of wake(), or for
// the deadline. Nothing is read beyond what is asked for: the bytes behind `AUTH TLS` stay in the
// kernel for TLS, those behind JOIN within TLS for the mover.
#pragma once

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/address.h"
#include "common/io/tls/tls.h"
#include "common/session/line.h"

namespace lambda::server {

Address address_of(const boost::asio::ip::tcp::endpoint& endpoint);

class Connection {
  public:
    using Deadline = boost::asio::steady_timer::time_point;

    explicit Connection(boost::asio::ip::tcp::socket socket);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();  // closes

    Address local() const;
    Address peer() const;

    void set_deadline(Deadline deadline);
    // Ends the present or the next wait. Loop's thread.
    void wake();

    // The first byte that waits, which stays; want_read while there is none.
    io::IoStatus peek_first(std::byte& first);
    // Before TLS: feeds the framer up to the end of its next line.
    io::IoStatus read_plain(session::LineFramer& framer);
    void start_tls(const io::TlsContext& context);
    io::TlsStream& tls() { return *stream_; }
    boost::asio::any_io_executor executor() { return socket_.get_executor(); }
    // After the handshake: at most `most` bytes, appended.
    io::IoStatus read(std::string& into, std::size_t most);

    enum class Wait { ready, woken, deadline };
    // Until what `status` wants (want_read, want_write) or anything else to wake up for.
    boost::asio::awaitable<Wait> wait(io::IoStatus status);
    // Lets what else the loop has to do go first, so that who never stops talking does not keep
    // it from others: ready, or deadline where that has come.
    boost::asio::awaitable<Wait> take_turns();
    // Writes all of `out` and empties it. False: the connection failed, or the deadline came.
    boost::asio::awaitable<bool> flush(std::string& out);
    // False where it failed, at the deadline, and on wake().
    boost::asio::awaitable<bool> handshake();

    // What was sent is repeated for longer than a peer that is there takes to hear of it. The
    // kernel gives up after a quarter of an hour; its TCP_USER_TIMEOUT would do so sooner, but
    // takes one that is there and does not read for one that is gone.
    bool peer_vanished();

    // Takes the stream and its socket off the loop.
    io::TlsStream release();

  private:
    // Shared with the handlers of waits that are still out when the connection goes.
    struct Waiter {
        explicit Waiter(const boost::asio::any_io_executor& executor) : timer(executor) {}
        boost::asio::steady_timer timer;
        Deadline deadline = Deadline::max();
        bool woken = false;
        bool read_armed = false, write_armed = false;
        bool readable = false, writable = false;
    };
    void arm(io::IoStatus status);
    io::IoStatus write_some(std::string_view bytes, std::size_t& written);

    boost::asio::ip::tcp::socket socket_;
    std::optional<io::TlsStream> stream_;
    std::shared_ptr<Waiter> waiter_;
};

}  // namespace lambda::server
