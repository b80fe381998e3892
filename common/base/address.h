// An Internet address and port as a value. IPv4 is held as ::ffff:a.b.c.d, so that one comparison
// serves both families.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace lambda {

using Ip = std::array<std::byte, 16>;

struct Address {
    Ip ip{};
    std::uint16_t port = 0;
    std::uint32_t scope = 0;  // interface index of a link-local address

    bool set() const { return port != 0; }
    bool same_host(const Address& other) const { return ip == other.ip && scope == other.scope; }
    auto operator<=>(const Address&) const = default;
};

// Ten zeros and two 0xff stand before one of IPv4 (RFC 4291 §2.5.5.2).
constexpr std::size_t kMappedPrefix = 12;
constexpr bool is_ipv4(const Ip& ip) {
    for (std::size_t i = 0; i < kMappedPrefix; ++i) {
        if (ip[i] != (i < 10 ? std::byte{0} : std::byte{0xff})) return false;
    }
    return true;
}

}  // namespace lambda
