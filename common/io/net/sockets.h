// UDP sockets as the engine's port: what may be asked of them, and their makers.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/address.h"
#include "common/base/result.h"
#include "common/ports/datagrams.h"

namespace lambda::io {

class Reactor;

// What was asked for and what the machine gave: said once where it is too small.
struct SocketBuffers {
    std::size_t wanted = 0;
    std::size_t given = 0;
};

// One UDP socket: non-blocking, UDP_SEGMENT and UDP_GRO where the kernel has them (probed; falls
// back to single packets on EIO/EINVAL, said once), don't-fragment with PMTU by probing,
// SO_RXQ_OVFL counted. `bind_to.port` 0: any. `connect_to` set: connected. `share`: what the
// sockets of one thread share, so that what comes by any of them lies in the processor's cache.
// Empty: a socket's own.
struct SocketShare;
struct UdpOptions {
    Address bind_to;
    Address connect_to;
    std::size_t buffer_bytes = 4u << 20;
    std::shared_ptr<SocketShare> share{};
};
Result<std::shared_ptr<SocketShare>> make_socket_share();
Result<std::unique_ptr<ports::DatagramSocket>> make_udp_socket(const UdpOptions& options,
                                                               Reactor& reactor,
                                                               SocketBuffers* buffers);
std::uint16_t local_port(const ports::DatagramSocket& socket);

}  // namespace lambda::io
