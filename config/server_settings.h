// What an administrator sets for lambda-ftpd, with the defaults. Read from YAML by
// load_server_settings(); the table in server_settings.cpp is the one place that names, checks and
// documents the keys. Values: whoever reads them owns a copy.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/address.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/base/units.h"

namespace lambda::config {

struct PortRange {
    std::uint16_t first = 50000;
    std::uint16_t last = 51000;  // inclusive; a range may be of one port
    bool operator==(const PortRange&) const = default;
};

// 0.0.0.0:2811 and [::]:2811.
std::vector<Address> default_listen();

struct ServerSettings {
    // Each its own socket; an IPv6 one takes IPv6 alone. Port 0: any free one.
    std::vector<Address> listen = default_listen();
    std::string state = "/var/lib/lambda-ftp";
    std::string accounts;  // empty: STATE/accounts.yaml
    std::string root;      // jail of an account that names none; empty: each account names one
    std::string
        certificate;  // PEM; empty, as `key`: STATE/certificate.pem and STATE/key.pem are made
    std::string key;
    std::string client_ca;  // PEM; empty: no login by client certificate
    PortRange data_ports;
    std::uint16_t stripes_max = 64;
    std::uint64_t memory = 1 * GiB;             // all running transfers together, bytes
    std::uint64_t transfer_memory = 176 * MiB;  // the ring of one transfer at most, bytes
    std::size_t socket_buffer = 4 * MiB;        // of each UDP socket, bytes
    BitRate highest_rate{0};                    // payload of one transfer; 0: no limit
    std::uint32_t sessions_max = 256;
    std::uint32_t sessions_per_address = 64;
    std::uint32_t transfers_max = 64;
    std::uint32_t login_tries = 3;
    Duration login_timeout = std::chrono::seconds(60);
    Duration idle_timeout = std::chrono::minutes(15);
    bool allow_null = false;
    bool allow_safe = true;
    bool allow_clear = true;
    bool allow_copy = true;
    std::vector<std::string>
        copy_hosts;  // rules as config::HostRules takes them; none: dial nobody
    bool io_uring = true;
    std::string log_level = "info";  // debug, info, warning, error

    bool operator==(const ServerSettings&) const = default;
};

// Errors (Fault::usage) read "FILE:LINE: KEY: what is wrong; allowed: ...". An empty document is
// all defaults.
Result<ServerSettings> load_server_settings(const std::string& file);
Result<ServerSettings> parse_server_settings(std::string_view text, const std::string& file);

// The table of keys; it writes into `into`, which must outlive it.
class Schema;
Schema server_schema(ServerSettings& into);

}  // namespace lambda::config
