// Where something lies: on this machine, or at a server. Pure.
//
// Remote: `lambda://[user@]host[:port]/path` (user and path percent-decoded, IPv6 in brackets, a
// zone as %25), or `[user@]host:path` (raw). A text with a slash before its first colon, or without
// a colon outside of brackets, is local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/dialling/dial.h"

namespace lambda::client {

constexpr std::uint16_t kControlPort = 2811;

struct Server {
    std::string user;  // empty: not said
    std::string host;  // lower case but of a zone, without brackets
    std::uint16_t port = kControlPort;

    dialling::HostPort host_port() const { return {host, port}; }
    // "host:2811", "[::1]:2811"
    std::string endpoint() const { return host_port().text(); }
    // "[host]:2811": the key in known_hosts
    std::string known_hosts_key() const;
    bool operator==(const Server&) const = default;
};

struct Place {
    std::optional<Server> server;  // none: this machine
    std::string path;  // raw bytes; remote: relative to the root, whether '/' leads or not
    bool operator==(const Place&) const = default;
};

// Errors are usage: bad percent-encoding, a bad port, a password in the URL, an unknown scheme.
Result<Place> parse_place(std::string_view text);

// The place at `path` (raw) at the same server, written as `text` is, which parse_place() takes for
// one at a server.
std::string place_beside(std::string_view text, const std::string& path);
// `directory` + `below`, where either may be ".".
std::string joined(const std::string& directory, const std::string& below);
// As the path of a URL.
std::string percent_encoded(const std::string& path);

// Where a server alone is meant: the place's, whatever its path; "[user@]host" and
// "[user@]host:port" will do, too. Errors are usage, as above, and where it is none.
Result<Server> parse_server(std::string_view text);

}  // namespace lambda::client
