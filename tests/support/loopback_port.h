// A TCP port of 127.0.0.1 that this process holds, so that nobody else answers there.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base/address.h"
#include "common/base/assert.h"
#include "common/io/file/root.h"

namespace lambda {

class LoopbackPort {
  public:
    // Refused to who connects; or, with `listens`, taken into a backlog in which nobody speaks.
    explicit LoopbackPort(bool listens) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof any;
        auto* const name = reinterpret_cast<sockaddr*>(&any);
        LAMBDA_ASSERT(::bind(socket_.get(), name, size) == 0);
        LAMBDA_ASSERT(!listens || ::listen(socket_.get(), 8) == 0);
        LAMBDA_ASSERT(::getsockname(socket_.get(), name, &size) == 0);
        address_.ip[10] = address_.ip[11] = std::byte{0xff};
        address_.ip[12] = std::byte{127};
        address_.ip[15] = std::byte{1};
        address_.port = ntohs(any.sin_port);
    }
    const Address& address() const { return address_; }

  private:
    io::Descriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    Address address_;
};

}  // namespace lambda
