// An Internet address and port as a value. IPv4 is held as ::ffff:a.b.c.d, so that one comparison
// serves both families.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace lambda {

struct Address {
    std::array<std::byte, 16> ip{};
    std::uint16_t port = 0;
    std::uint32_t scope = 0;  // interface index of a link-local address

    bool set() const { return port != 0; }
    bool same_host(const Address& other) const { return ip == other.ip && scope == other.scope; }
    auto operator<=>(const Address&) const = default;
};

}  // namespace lambda
