// The control port: accepts connections on each address and starts a session for each that the
// limits admit. Loop's thread.
#pragma once

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "common/base/address.h"
#include "common/base/result.h"
#include "server/service.h"
#include "server/sparse_log.h"

namespace lambda::server {

class Session;

class Listener {
  public:
    // Both must outlive it, and it the loop's last turn.
    Listener(boost::asio::io_context& loop, Service& service);

    // Binds and listens; the address that it got. An IPv6 one takes IPv6 alone. Fault::unsupported
    // where this machine has no such address or family.
    Result<Address> listen(const Address& address);
    void start();
    // Accepts no more, and ends each session as soon as nothing runs in it.
    void stop();
    void accounts_replaced();

  private:
    boost::asio::awaitable<void> accept(boost::asio::ip::tcp::acceptor& acceptor);
    void admit(boost::asio::ip::tcp::socket socket);

    boost::asio::io_context& loop_;
    Service& service_;
    std::list<boost::asio::ip::tcp::acceptor> acceptors_;
    std::vector<std::weak_ptr<Session>> sessions_;
    std::uint64_t next_session_ = 1;
    SparseLog not_accepted_, too_many_;
};

}  // namespace lambda::server
