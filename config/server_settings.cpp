#include "config/server_settings.h"

#include <algorithm>

#include "config/endpoint.h"
#include "config/host_rules.h"
#include "config/schema.h"

namespace lambda::config {
namespace {

constexpr std::size_t kMaxListeners = 16;
constexpr std::size_t kMaxHosts = 256;
constexpr BitRate kLeastRate{100e3};
constexpr BitRate kMostRate{1e12};

std::optional<std::string> read_listen(const Entry& entry, std::vector<Address>& field) {
    if (entry.items.empty()) return "has no value";
    if (entry.items.size() > kMaxListeners) return "too many of them";
    std::vector<Address> all;
    for (const std::string& item : entry.items) {
        const Result<Address> address = parse_endpoint(item);
        if (!address) return address.error().message;
        const bool again = std::find(all.begin(), all.end(), *address) != all.end();
        if (again && address->port != 0) return "'" + item + "' stands twice";
        all.push_back(*address);
    }
    field = std::move(all);
    return std::nullopt;
}

std::optional<std::string> read_ports(const Entry& entry, PortRange& field) {
    if (entry.is_list || entry.items.empty()) return "must be one value";
    const std::string& text = entry.items.front();
    const std::string bad = "'" + text + "' is no range of ports";
    const auto port = [](const std::string& digits) -> std::uint16_t {
        const bool good = !digits.empty() && digits.size() <= 5 &&
                          digits.find_first_not_of("0123456789") == std::string::npos;
        const unsigned long value = good ? std::stoul(digits) : 0;
        return value <= 65535 ? static_cast<std::uint16_t>(value) : std::uint16_t{0};
    };
    const std::size_t dash = text.find('-');
    const PortRange range{.first = port(text.substr(0, dash)),
                          .last = port(dash == std::string::npos ? text : text.substr(dash + 1))};
    if (range.first == 0 || range.last == 0) return bad;
    if (range.first > range.last) return bad + ": the first is above the last";
    field = range;
    return std::nullopt;
}

std::optional<std::string> read_hosts(const Entry& entry, std::vector<std::string>& field) {
    if (entry.items.size() > kMaxHosts) return "too many of them";
    const Result<HostRules> rules = HostRules::parse(entry.items);
    if (!rules) return rules.error().message;
    field = entry.items;
    return std::nullopt;
}

std::string listed(const std::vector<Address>& addresses) {
    std::string text;
    for (const Address& address : addresses) {
        text += (text.empty() ? "[\"" : ", \"") + format_endpoint(address) + "\"";
    }
    return text + "]";
}

void add_network(Schema& schema, ServerSettings& into) {
    schema.add({.name = "listen",
                .allowed = "one to 16 of ADDRESS:PORT, numeric, IPv6 in brackets, port 0 for any",
                .default_value = listed(into.listen),
                .documentation = "Where clients and stripes connect (TCP).",
                .read = [&into](const Entry& entry) { return read_listen(entry, into.listen); }});
    schema.add(
        {.name = "data_ports",
         .allowed = "FIRST-LAST or one port, 1 to 65535",
         .default_value =
             std::to_string(into.data_ports.first) + "-" + std::to_string(into.data_ports.last),
         .documentation = "UDP ports for the data of transfers; a firewall must let them in. "
                          "One port is enough for any number of stripes of one transfer, "
                          "and for one transfer at a time; of several it leaves some to those "
                          "that may come.",
         .read = [&into](const Entry& entry) { return read_ports(entry, into.data_ports); }});
    schema.size({"socket_buffer",
                 "Receive and send buffer of each UDP socket. The kernel's net.core.rmem_max and "
                 "wmem_max must allow it."},
                into.socket_buffer, {64 * KiB, 1 * GiB});
}

void add_places(Schema& schema, ServerSettings& into) {
    schema.path({"state",
                 "Directory for the server's key, certificate and accounts, best of its own; made "
                 "if missing, its parent is not."},
                into.state, false);
    schema.path({"accounts", "File of the accounts. Empty: accounts.yaml in the state directory."},
                into.accounts, true);
    schema.path({"root",
                 "Directory that an account without a root of its own is jailed in. Empty: each "
                 "account must name one."},
                into.root, true);
    schema.path(
        {"certificate",
         "The server's certificate chain (PEM). Empty: one is made in the state directory at "
         "the first start."},
        into.certificate, true);
    schema.path({"key", "The private key of the certificate (PEM). Set both or neither."}, into.key,
                true);
    schema.path({"client_ca",
                 "Authorities (PEM) whose client certificates log in; the common name is the "
                 "account. Empty: none."},
                into.client_ca, true);
}

void add_transfers(Schema& schema, ServerSettings& into) {
    schema.count({"stripes_max",
                  "The most stripes of one transfer. Beside others it has its part of 16 for each "
                  "processor, and "
                  "at least one."},
                 into.stripes_max, {1, 64});
    schema.count({"transfers_max",
                  "The most transfers at once; one more is answered 450. Where there are several "
                  "accounts, each leaves the others an eighth of them, one at least."},
                 into.transfers_max, {1, 1024});
    schema.size({"memory",
                 "Memory for the rings of all running transfers together. Each gets at least 4MiB; "
                 "where half of this is less than that for transfers_max, so many may not run at "
                 "once: 450. Names that clients ask for and that wait may take as much again, or "
                 "64MiB for each transfer."},
                into.memory, {16 * MiB, 1024 * GiB});
    schema.size(
        {"transfer_memory",
         "The most memory for the ring of one transfer; where it is not set, memory if that is "
         "less."},
        into.transfer_memory, {16 * MiB, 64 * GiB});
    schema.optional_rate(
        {"highest_rate",
         "The most payload a second of one transfer. It is agreed on: of a put the "
         "client keeps to it, and one that does not is not held back."},
        into.highest_rate, {kLeastRate, kMostRate});
    schema.flag({"allow_safe", "Offer protection safe: authenticated, but readable on the path."},
                into.allow_safe);
    schema.flag({"allow_clear",
                 "Offer protection clear: data readable on the path and not safe from an attacker "
                 "on it."},
                into.allow_clear);
    schema.flag(
        {"allow_null",
         "Offer the virtual files /.zero/SIZE (so many zeros; /.zero: 1GiB) and /.null (takes "
         "anything), for measurements."},
        into.allow_null);
    schema.flag(
        {"io_uring", "Read and write by io_uring where the kernel allows it; else by threads."},
        into.io_uring);
}

void add_copies(Schema& schema, ServerSettings& into) {
    schema.flag({"allow_copy",
                 "Let accounts copy from server to server: grant other servers what they may do "
                 "here themselves, and have this one dial those of copy_hosts (docs/copy.md)."},
                into.allow_copy);
    schema.add(
        {.name = "copy_hosts",
         .allowed = "a list of up to 256: names, *.DOMAIN, addresses, networks as "
                    "10.1.0.0/16, public (any that the Internet routes), * (any)",
         .default_value = "[]",
         .documentation = "The servers that this one dials for copies, on ports from 1024. "
                          "Empty: none; the other server has to dial then.",
         .read = [&into](const Entry& entry) { return read_hosts(entry, into.copy_hosts); }});
}

void add_sessions(Schema& schema, ServerSettings& into) {
    schema.count({"sessions_max",
                  "The most sessions at once. A stripe's connection is one until it has joined its "
                  "transfer. Where all are taken, one that has not logged in or joined gives way "
                  "to one from an address (IPv6: /48) that has fewer of such. Of the limit of open "
                  "files they take half at most, two each; where fewer fit, the log says so."},
                 into.sessions_max, {1, 65536});
    schema.count(
        {"sessions_per_address",
         "The most connections at once from one address; where it is not set, sessions_max if "
         "that is less."},
        into.sessions_per_address, {1, 65536});
    schema.count({"login_tries", "Wrong passwords after which a connection is closed."},
                 into.login_tries, {1, 100});
    schema.duration({"login_timeout", "A connection that has not logged in by then is closed."},
                    into.login_timeout, {std::chrono::seconds(1), std::chrono::hours(1)});
    schema.duration(
        {"idle_timeout", "A session without a command or a transfer is closed after this."},
        into.idle_timeout, {std::chrono::seconds(1), std::chrono::hours(24)});
    schema.choice({"log_level", "The least important messages that are logged."}, into.log_level,
                  {"debug", "info", "warning", "error"});
}

}  // namespace

std::vector<Address> default_listen() {
    return {*parse_endpoint("0.0.0.0:2811"), *parse_endpoint("[::]:2811")};
}

Schema server_schema(ServerSettings& into) {
    Schema schema;
    add_network(schema, into);
    add_places(schema, into);
    add_transfers(schema, into);
    add_copies(schema, into);
    add_sessions(schema, into);
    return schema;
}

Result<ServerSettings> parse_server_settings(std::string_view text, const std::string& file) {
    const Result<std::vector<Entry>> entries = parse_document(text, file);
    if (!entries) return entries.error();
    ServerSettings settings;
    if (const auto applied = server_schema(settings).apply(*entries, file); !applied) {
        return applied.error();
    }
    // What was not set gives way to what was.
    const auto is_set = [&](const std::string& key) {
        return std::any_of(entries->begin(), entries->end(),
                           [&](const Entry& entry) { return entry.key == key; });
    };
    if (!is_set("transfer_memory"))
        settings.transfer_memory = std::min(settings.transfer_memory, settings.memory);
    if (!is_set("sessions_per_address"))
        settings.sessions_per_address =
            std::min(settings.sessions_per_address, settings.sessions_max);
    const auto related = check_relations(
        {{.holds = settings.transfer_memory <= settings.memory,
          .keys = {"memory", "transfer_memory"},
          .what = "transfer_memory (" + exact_size(settings.transfer_memory) +
                  ") is more than memory (" + exact_size(settings.memory) +
                  "); allowed: at most as much"},
         {.holds = settings.sessions_per_address <= settings.sessions_max,
          .keys = {"sessions_max", "sessions_per_address"},
          .what = "sessions_per_address (" + std::to_string(settings.sessions_per_address) +
                  ") is more than sessions_max (" + std::to_string(settings.sessions_max) +
                  "); allowed: at most as many"},
         {.holds = settings.certificate.empty() == settings.key.empty(),
          .keys = {"certificate", "key"},
          .what = "certificate and key belong together; allowed: both or neither"}},
        *entries, file);
    if (!related) return related.error();
    return settings;
}

Result<ServerSettings> load_server_settings(const std::string& file) {
    const Result<std::string> text = read_document(file, "the settings");
    if (!text) return text.error();
    return parse_server_settings(*text, file);
}

}  // namespace lambda::config
