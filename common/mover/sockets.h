// The UDP sockets of a transfer. A client has one for each stripe, connected to the server's port
// for it; a server takes up to one for each stripe from its range of data ports, as many as it may,
// and lets stripes share where there are fewer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/io/reactor.h"
#include "common/mover/mover.h"
#include "common/ports/datagrams.h"

namespace lambda::mover {

struct Sockets {
    std::vector<std::unique_ptr<ports::DatagramSocket>> list;
    std::vector<std::uint16_t> ports;  // local
    std::uint64_t buffer_bytes = 0;    // of each
    std::string note;  // what small buffers cost and how to mend it; empty if nothing
};

Result<Sockets> open_sockets(const Setup& setup, io::Reactor& reactor);

}  // namespace lambda::mover
