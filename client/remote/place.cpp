#include "client/remote/place.h"

#include <algorithm>
#include <charconv>

#include "common/base/ascii.h"
#include "common/session/percent.h"

namespace lambda::client {
namespace {

constexpr std::string_view kScheme = "lambda://";

Error bad_place(std::string_view text, std::string message, std::string remedy) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = std::string(text),
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

// %00 neither: no file has a name with a NUL.
std::optional<std::string> decoded(std::string_view text) {
    auto name = session::percent_decode(text);
    if (name && name->find('\0') != name->npos) return std::nullopt;
    return name;
}

// Takes "host" or "[v6]" off the front; nothing where a bracket stays open or the host is empty.
std::optional<std::string> take_host(std::string_view& rest) {
    std::string_view host;
    if (rest.starts_with('[')) {
        const std::size_t close = rest.find(']');
        if (close == std::string_view::npos) return std::nullopt;
        host = rest.substr(1, close - 1);
        rest.remove_prefix(close + 1);
    } else {
        host = rest.substr(0, rest.find(':'));
        rest.remove_prefix(host.size());
    }
    if (host.empty()) return std::nullopt;
    // A zone is a device's name, whose case counts.
    const std::string_view zone = host.substr(std::min(host.find('%'), host.size()));
    host.remove_suffix(zone.size());
    return lower_case(host).append(zone);
}

// `text` is the place that they stand in.
Result<std::uint16_t> port_in(std::string_view text, std::string_view digits) {
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, port);
    if (error != std::errc{} || stop != end || port == 0)
        return bad_place(text, "the port is not a number from 1 to 65535", {});
    return port;
}

Result<Place> parse_url(std::string_view text) {
    std::string_view authority = text.substr(kScheme.size());
    const std::size_t slash = std::min(authority.find('/'), authority.size());
    const std::string_view path = authority.substr(slash);
    authority = authority.substr(0, slash);

    Server server;
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        const std::string_view user = authority.substr(0, at);
        if (user.find(':') != std::string_view::npos) {
            return bad_place("lambda://...", "a URL never holds a password",
                             "use --password-file, LAMBDA_FTP_PASSWORD or ~/.netrc");
        }
        const auto name = decoded(user);
        if (!name || name->empty()) {
            return bad_place(text, "the user is empty or its percent-encoding is wrong", {});
        }
        server.user = *name;
        authority.remove_prefix(at + 1);
    }
    auto host = take_host(authority);
    if (!host) {
        const bool is_ipv6 = std::count(authority.begin(), authority.end(), ':') > 1;
        return bad_place(text, "there is no host",
                         is_ipv6 ? "write an IPv6 address in brackets: lambda://[::1]:2811/PATH"
                                 : "write lambda://HOST/PATH");
    }
    if (const std::size_t zone = host->find("%25"); zone != std::string::npos) {
        host->erase(zone + 1, 2);
    }
    server.host = *host;
    if (!authority.empty()) {
        if (!authority.starts_with(':')) {
            return bad_place(text, "there is something other than a port behind the host", {});
        }
        const auto port = port_in(text, authority.substr(1));
        if (!port) return port.error();
        server.port = *port;
    }
    const auto raw = decoded(path);
    if (!raw) {
        return bad_place(text, "the path's percent-encoding is wrong", "write % itself as %25");
    }
    return Place{.server = std::move(server), .path = raw->empty() ? "/" : *raw};
}

// "[user@]host:path", or nothing where the text is a local path.
std::optional<Place> parse_short(std::string_view text) {
    Server server;
    std::string_view rest = text;
    const std::string_view head = text.substr(0, text.find_first_of(":/["));
    if (const std::size_t at = head.rfind('@'); at != std::string_view::npos) {
        server.user = head.substr(0, at);
        rest.remove_prefix(at + 1);
    }
    const std::size_t colon = rest.starts_with('[') ? rest.find("]:") : rest.find_first_of(":/");
    if (colon == std::string_view::npos || rest[colon] == '/') return std::nullopt;
    if (rest.substr(0, colon).find('/') != std::string_view::npos) return std::nullopt;
    const auto host = take_host(rest);
    if (!host || !rest.starts_with(':')) return std::nullopt;
    server.host = *host;
    const std::string_view path = rest.substr(1);
    return Place{.server = std::move(server), .path = path.empty() ? "/" : std::string(path)};
}

}  // namespace

std::string Server::known_hosts_key() const {
    return "[" + host + "]:" + std::to_string(port);
}

Result<Place> parse_place(std::string_view text) {
    if (text.empty()) return bad_place(text, "an empty name is no place", {});
    if (text.starts_with(kScheme)) return parse_url(text);
    const std::size_t scheme = text.find("://");
    if (scheme != std::string_view::npos && text.find('/') == scheme + 1) {
        return bad_place(text, "the scheme is unknown",
                         "write lambda://HOST/PATH, or ./ before a local name");
    }
    if (auto place = parse_short(text)) return *std::move(place);
    return Place{.server = std::nullopt, .path = std::string(text)};
}

std::string place_beside(std::string_view text, const std::string& path) {
    if (text.starts_with(kScheme)) {
        const std::size_t slash = std::min(text.find('/', kScheme.size()), text.size());
        return std::string(text.substr(0, slash)) + (path.starts_with('/') ? "" : "/") +
               percent_encoded(path);
    }
    const std::optional<Place> place = parse_short(text);
    LAMBDA_ASSERT(place);
    const std::size_t raw = text.ends_with(':') ? 0 : place->path.size();
    return std::string(text.substr(0, text.size() - raw)) + path;
}

std::string percent_encoded(const std::string& path) {
    return session::percent_encode(path, [](char c) {
        const bool letter_or_digit =
            (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        return letter_or_digit || std::string_view("/._~-").find(c) != std::string_view::npos;
    });
}

Result<Server> parse_server(std::string_view text) {
    auto place = parse_place(text);
    if (!place) return place.error();
    if (!place->server) place = parse_place(std::string(text) + ":");
    if (!place || !place->server)
        return bad_place(text, "not a server", "write lambda://HOST[:PORT] or HOST[:PORT]");
    const std::string& path = place->path;
    if (!text.starts_with(kScheme) && path.find_first_not_of("0123456789") == path.npos) {
        const auto port = port_in(text, path);
        if (!port) return port.error();
        place->server->port = *port;
    }
    return *std::move(place->server);
}

std::string joined(const std::string& directory, const std::string& below) {
    if (below == ".") return directory;
    if (directory.empty() || directory == ".") return below;
    return directory.ends_with('/') ? directory + below : directory + "/" + below;
}

}  // namespace lambda::client
