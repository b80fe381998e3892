// Another program, measured on the same path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/trial/measures.h"
#include "common/base/result.h"

namespace lambda::client {

// Which program, and where its server listens.
struct Against {
    enum class Program { iperf3, globus_url_copy };
    Program program = Program::iperf3;
    std::uint16_t port = 0;
};
// "iperf3" or "globus-url-copy", with ":PORT" behind it where its server has another than its own.
std::optional<Against> parse_against(const std::string& text);

// `size` bytes over `streams` TCP connections with a server at `host`, memory to memory: iperf3's
// own payload, or by globus-url-copy from /dev/zero to /dev/null, of whose time its start is a
// part. `reverse`: from there to here. Errors (Fault::file): no such program, no such server, with
// its own words.
Result<Measures> run_against(const Against& against, const std::string& host, std::uint64_t size,
                             unsigned streams, bool reverse);

}  // namespace lambda::client
