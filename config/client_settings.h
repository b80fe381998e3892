// What a user sets for lambda-ftp, with the defaults; the command line's options overrule them.
// Read from YAML by load_client_settings(); the table in client_settings.cpp is the one place that
// names, checks and documents the keys.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/rate_timetable.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/base/units.h"
#include "common/session/terms.h"

namespace lambda::config {

struct ClientSettings {
    std::uint16_t stripes = 4;
    std::string congestion = "sabul";  // a law's name; known or not is told by the law registry
    session::Protection protection = session::Protection::private_;
    std::optional<session::Cipher> cipher;  // none ("auto"): the faster one of this machine
    std::uint64_t memory = 256 * MiB;       // the process, of which the ring is at most 176 MiB
    std::uint32_t block_size = 1 * MiB;     // a multiple of 1 MiB
    Duration syn = std::chrono::milliseconds(10);
    std::uint32_t payload = session::kMaxPayload;
    std::uint64_t window = 0;  // bytes in flight; 0: no limit
    BitRate initial_rate{0};   // 0 ("auto"): by what the path is known for
    BitRate rate_limit{0};     // payload of the whole transfer; 0: no limit
    RateTimetable rate_hours;  // of `rate_limit`, where that is one: counts besides
    Duration retry_for{0};     // a session that was lost is dialled again for so long; 0: not
    std::size_t socket_buffer = 4 * MiB;
    bool read_back = false;  // the receiver compares what its disk gives back
    bool trust_new_host = false;
    std::string ca;  // PEM; empty: the system's authorities
    bool io_uring = true;
    std::string log_level = "warning";  // debug, info, warning, error

    bool operator==(const ClientSettings&) const = default;
};

// Errors (Fault::usage) read "FILE:LINE: KEY: what is wrong; allowed: ...". An empty document is
// all defaults.
Result<ClientSettings> load_client_settings(const std::string& file);
Result<ClientSettings> parse_client_settings(std::string_view text, const std::string& file);

// A value of `rate_limit`: a rate, none, or a timetable. Returns what is wrong, or nothing.
std::optional<std::string> read_rate_limit(const std::string& text, ClientSettings& into);

// The table of keys; it writes into `into`, which must outlive it.
class Schema;
Schema client_schema(ClientSettings& into);

}  // namespace lambda::config
