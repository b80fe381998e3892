#include "common/mover/sockets.h"

#include <algorithm>

#include "common/base/units.h"
#include "common/io/net/sockets.h"

namespace lambda::mover {
namespace {

std::string buffer_note(const io::SocketBuffers& buffers) {
    if (buffers.given >= buffers.wanted) return {};
    return "UDP socket buffers hold " + format_size(buffers.given) + " where " +
           format_size(buffers.wanted) +
           " were asked for: packets are lost where a burst of the path is longer; mend it with "
           "'sysctl -w "
           "net.core.rmem_max=" +
           std::to_string(buffers.wanted) + " net.core.wmem_max=" + std::to_string(buffers.wanted) +
           "'";
}

Result<void> add(Sockets& sockets, const io::UdpOptions& options, io::Reactor& reactor) {
    io::SocketBuffers buffers;
    auto socket = io::make_udp_socket(options, reactor, &buffers);
    if (!socket) return socket.error();
    sockets.ports.push_back(io::local_port(**socket));
    sockets.list.push_back(std::move(*socket));
    sockets.buffer_bytes = buffers.given;
    sockets.note = buffer_note(buffers);
    return {};
}

Result<Sockets> open_client(const Setup& setup, io::Reactor& reactor,
                            const std::shared_ptr<io::SocketShare>& share) {
    Sockets sockets;
    for (std::uint16_t stripe = 0; stripe < setup.terms.stripes; ++stripe) {
        io::UdpOptions options{.bind_to = setup.local,
                               .connect_to = setup.peer,
                               .buffer_bytes = setup.socket_buffer,
                               .share = share};
        options.bind_to.port = 0;
        options.connect_to.port = setup.ports[stripe % setup.ports.size()];
        if (const auto added = add(sockets, options, reactor); !added) return added.error();
    }
    return sockets;
}

Result<Sockets> open_server(const Setup& setup, io::Reactor& reactor,
                            const std::shared_ptr<io::SocketShare>& share) {
    Sockets sockets;
    const std::uint32_t range = setup.last_port - setup.first_port + 1u;
    // Where transfers begin their search at different places, they do not all try the same ports.
    const std::uint32_t start =
        static_cast<std::uint32_t>(setup.transfer * setup.terms.stripes % range);
    const auto most = std::min<std::uint64_t>(setup.terms.stripes, setup.most_ports);
    Error last;
    for (std::uint32_t i = 0; i < range && sockets.list.size() < most; ++i) {
        io::UdpOptions options{.bind_to = setup.local,
                               .connect_to = {},
                               .buffer_bytes = setup.socket_buffer,
                               .share = share};
        options.bind_to.port = static_cast<std::uint16_t>(setup.first_port + (start + i) % range);
        const auto added = add(sockets, options, reactor);
        if (added) continue;
        last = added.error();
        if (last.fault == Fault::cut) break;  // not the port's: another one would fail as well
    }
    if (!sockets.list.empty()) return sockets;
    if (last.fault == Fault::cut) return last;
    return Error{.fault = Fault::session,
                 .message = "no free UDP data port from " + std::to_string(setup.first_port) +
                            " to " + std::to_string(setup.last_port) + " (" + last.message + ")",
                 .path = {},
                 .side = Side::local,
                 .remedy = "wait for a transfer to end, or widen data_ports"};
}

}  // namespace

Result<Sockets> open_sockets(const Setup& setup, io::Reactor& reactor) {
    const auto share = io::make_socket_share();
    if (!share) return share.error();
    return setup.is_client ? open_client(setup, reactor, *share)
                           : open_server(setup, reactor, *share);
}

}  // namespace lambda::mover
