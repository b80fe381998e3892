#include "config/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

namespace lambda::config {
namespace {

constexpr std::array<std::byte, 12> kMappedPrefix{
    {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};

bool parse_ipv4(const std::string& text, Address& address) {
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.ip.begin());
    return inet_pton(AF_INET, text.c_str(), address.ip.data() + kMappedPrefix.size()) == 1;
}

bool parse_ipv6(const std::string& text, Address& address) {
    return inet_pton(AF_INET6, text.c_str(), address.ip.data()) == 1;
}

}  // namespace

Result<Address> parse_endpoint(std::string_view text) {
    const Error bad{.fault = Fault::usage,
                    .message = "'" + std::string(text) + "' is no ADDRESS:PORT",
                    .path = {},
                    .side = Side::local,
                    .remedy = "write it as 127.0.0.1:2811 or [::1]:2811"};
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return bad;
    const std::string host(text.substr(0, colon));
    const std::string_view port = text.substr(colon + 1);
    // inet_pton stops at a NUL, the text does not.
    if (host.find('\0') != std::string::npos) return bad;

    Address address;
    const auto [stop, problem] =
        std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (port.empty() || problem != std::errc() || stop != port.data() + port.size()) return bad;
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    const bool good = bracketed ? parse_ipv6(host.substr(1, host.size() - 2), address)
                                : parse_ipv4(host, address);
    if (!good) return bad;
    return address;
}

std::string format_endpoint(const Address& address) {
    char text[INET6_ADDRSTRLEN] = {};
    const bool mapped = std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), address.ip.begin());
    if (mapped) {
        inet_ntop(AF_INET, address.ip.data() + kMappedPrefix.size(), text, sizeof text);
        return std::string(text) + ":" + std::to_string(address.port);
    }
    inet_ntop(AF_INET6, address.ip.data(), text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(address.port);
}

}  // namespace lambda::config
