// Address to and from the kernel's form. An IPv4 address (::ffff:a.b.c.d) becomes AF_INET, except
// on an IPv6 socket, where it stays mapped.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base/address.h"

namespace lambda::io {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    SocketAddress() = default;
    SocketAddress(const Address& address, int family);
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// AF_INET or AF_INET6; another family gives an unset address.
Address address_of(const sockaddr_storage& storage);

}  // namespace lambda::io
