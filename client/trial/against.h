// Another program, measured on the same path.
#pragma once

#include <cstdint>
#include <string>

#include "client/trial/measures.h"
#include "common/base/result.h"

namespace lambda::client {

// iperf3's TCP with a server at `host`, `size` bytes over `streams` connections; `reverse`: from
// there to here. Errors (Fault::file): no such program, no such server, both with its own words.
Result<Measures> run_iperf3(const std::string& host, std::uint64_t size, unsigned streams,
                            bool reverse);

}  // namespace lambda::client
