#include "config/host_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "common/base/ascii.h"

namespace lambda::config {
namespace {

constexpr unsigned kMappedBits = 96;  // ::ffff:0:0/96, where IPv4 lies

std::optional<Address> numeric(const std::string& text) {
    Address address;
    std::array<unsigned char, 16> bytes{};
    if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
        address.ip[10] = address.ip[11] = std::byte{0xff};
        std::memcpy(address.ip.data() + 12, bytes.data(), 4);
        return address;
    }
    if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return std::nullopt;
    std::memcpy(address.ip.data(), bytes.data(), 16);
    return address;
}

bool within(const Address& address, const Address& network, unsigned bits) {
    for (unsigned i = 0; i < bits; i += 8) {
        const unsigned left = std::min(bits - i, 8U);
        const auto mask = static_cast<unsigned char>(0xff00U >> left);
        const auto differs = address.ip[i / 8] ^ network.ip[i / 8];
        if ((std::to_integer<unsigned char>(differs) & mask) != 0) return false;
    }
    return true;
}

struct Network {
    const char* address;
    unsigned bits;
};
// RFC 6890, and multicast (RFC 5771, RFC 4291 §2.7). Of IPv6 only 2000::/3 is handed out.
constexpr Network kSpecial4[] = {
    {"0.0.0.0", 8},      {"10.0.0.0", 8},    {"100.64.0.0", 10},   {"127.0.0.0", 8},
    {"169.254.0.0", 16}, {"172.16.0.0", 12}, {"192.0.0.0", 24},    {"192.0.2.0", 24},
    {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24}, {"203.0.113.0", 24},
    {"224.0.0.0", 3},
};
// Documentation, 6to4 and Teredo, which hold IPv4 addresses of any kind.
constexpr Network kSpecial6[] = {{"2001:db8::", 32}, {"2002::", 16}, {"2001::", 32}};

// Of digits alone behind its last dot it is an address that was written wrong.
bool is_number(std::string_view text) {
    const std::string_view last = text.substr(text.rfind('.') + 1);
    return !last.empty() && last.find_first_not_of("0123456789") == last.npos;
}

bool is_name(std::string_view text) {
    return !is_number(text) && !text.empty() && text.size() <= 253 && text.front() != '.' &&
           text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                      c == '_';
           });
}

}  // namespace

bool is_public(const Address& address) {
    const bool four = within(address, *numeric("0.0.0.0"), kMappedBits);
    const auto holds = [&](const Network& network) {
        return within(address, *numeric(network.address), network.bits + (four ? kMappedBits : 0));
    };
    if (four) return std::none_of(std::begin(kSpecial4), std::end(kSpecial4), holds);
    return within(address, *numeric("2000::"), 3) &&
           std::none_of(std::begin(kSpecial6), std::end(kSpecial6), holds);
}

Result<HostRules> HostRules::parse(const std::vector<std::string>& rules) {
    HostRules parsed;
    for (const std::string& text : rules) {
        auto rule = parse_rule(text);
        if (!rule) return rule.error();
        parsed.rules_.push_back(*std::move(rule));
    }
    return parsed;
}

Result<HostRules::Rule> HostRules::parse_rule(const std::string& text) {
    using Kind = Rule::Kind;
    const std::string name = lower_case(text);
    if (name == "*") return Rule{.kind = Kind::any, .network = {}, .bits = 0, .name = {}};
    if (name == "public") return Rule{.kind = Kind::public_, .network = {}, .bits = 0, .name = {}};
    const std::size_t slash = text.find('/');
    if (const auto address = numeric(text.substr(0, slash))) {
        const unsigned base = within(*address, *numeric("0.0.0.0"), kMappedBits) ? kMappedBits : 0;
        unsigned bits = 128 - base;
        if (slash != std::string::npos) {
            const char* const end = text.data() + text.size();
            const auto [stop, wrong] = std::from_chars(text.data() + slash + 1, end, bits);
            if (wrong != std::errc() || stop != end || bits > 128 - base) bits = 256;
        }
        if (bits <= 128) {
            return Rule{
                .kind = Kind::network, .network = *address, .bits = base + bits, .name = {}};
        }
    } else if (name.starts_with("*.") && is_name(name.substr(2))) {
        return Rule{.kind = Kind::domain, .network = {}, .bits = 0, .name = name.substr(1)};
    } else if (is_name(name) && name != "none" && name != "null") {
        return Rule{.kind = Kind::name, .network = {}, .bits = 0, .name = name};
    }
    return Error{
        .fault = Fault::usage,
        .message = "'" + text + "' is no host, network, *.DOMAIN, public or * for copy_hosts",
        .path = {},
        .side = Side::local,
        .remedy = "without copy_hosts no host is dialled"};
}

bool HostRules::allow(std::string_view host, const Address& address) const {
    const std::string name = lower_case(host);
    return std::any_of(rules_.begin(), rules_.end(),
                       [&](const Rule& rule) { return matches(rule, name, address); });
}

bool HostRules::matches(const Rule& rule, std::string_view host, const Address& address) {
    switch (rule.kind) {
        case Rule::Kind::any:
            return true;
        case Rule::Kind::public_:
            return is_public(address);
        case Rule::Kind::network:
            return within(address, rule.network, rule.bits);
        case Rule::Kind::name:
            return host == rule.name;
        case Rule::Kind::domain:
            return host.size() > rule.name.size() && host.ends_with(rule.name);
    }
    return false;
}

}  // namespace lambda::config
