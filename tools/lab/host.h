// A host of the lab: a network namespace with a TUN device, addresses and settings of its own. It
// has no name on the machine: it goes with the last process and descriptor that hold it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/io/file/root.h"
#include "tools/lab/path.h"
#include "tools/lab/tun.h"

namespace lambda::lab {

struct Host {
    HostSpec spec;
    std::string address;   // IPv4
    std::string address6;  // empty where the machine has no IPv6
    io::Descriptor network;
    Tun tun;
};

// "10.77.1.N" for the Nth host of the left, "10.77.2.N" of the right; fd77::1:N, fd77::2:N.
std::string host_address(End end, unsigned number);
std::string host_address6(End end, unsigned number);

// In the order of the path. The thread is back in its own namespace afterwards, also on failure.
// Errors (Fault::unsupported): what the machine does not let us have.
Result<std::vector<Host>> make_hosts(const PathSpec& path, Offload offload);

// Packets that the host's card had to drop since the lab did not fetch them in time.
std::uint64_t unfetched_packets(const Host& host);

}  // namespace lambda::lab
