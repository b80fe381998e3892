#include "common/io/net/socket_address.h"

#include <cstring>

namespace lambda::io {
SocketAddress::SocketAddress(const Address& address, int family) {
    if (family == AF_INET) {
        auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(address.port);
        std::memcpy(&v4.sin_addr, address.ip.data() + kMappedPrefix, 4);
        length = sizeof v4;
    } else {
        auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(address.port);
        v6.sin6_scope_id = address.scope;
        std::memcpy(&v6.sin6_addr, address.ip.data(), 16);
        length = sizeof v6;
    }
}

Address address_of(const sockaddr_storage& storage) {
    Address out;
    if (storage.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
        out.port = ntohs(v4.sin_port);
        out.ip[10] = out.ip[11] = std::byte{0xff};
        std::memcpy(out.ip.data() + kMappedPrefix, &v4.sin_addr, 4);
    } else if (storage.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
        out.port = ntohs(v6.sin6_port);
        out.scope = v6.sin6_scope_id;
        std::memcpy(out.ip.data(), &v6.sin6_addr, 16);
    }
    return out;
}

}  // namespace lambda::io
