// TCP connections to a server by name, over all of its addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/address.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/dialling/waiting.h"
#include "common/io/file/root.h"

namespace lambda::dialling {

// A server's control port, by name or numeric address.
struct HostPort {
    std::string host;  // without brackets
    std::uint16_t port = 0;

    // "host:2811", "[::1]:2811"
    std::string text() const;
    bool operator==(const HostPort&) const = default;
};

// A non-blocking socket with TCP_NODELAY, and the ends of its connection.
struct Dialled {
    io::Descriptor socket;
    Address local;
    Address peer;
};

// Which of a host's addresses may be dialled; empty: all.
using MayDial = std::function<bool(const Address&)>;

// Tries the addresses in the order that the resolver gives; each next one 250 ms after the last, or
// at once when that failed (after RFC 8305 §5). The first connection that stands is taken.
// Errors: Fault::session with the cause of the last address; Fault::cut when interrupted.
Result<Dialled> dial(const HostPort& server, Time deadline, const Interruption& interruption,
                     const MayDial& may_dial = {});

// "cannot connect to SERVER: WHY" (Fault::session, network).
Error no_connection(const HostPort& server, const std::string& why, std::string remedy);

// Begins a connection to one address; it stands, or failed, once the socket is writable.
Result<io::Descriptor> begin_connection(const Address& to);
// What became of it: 0, or an errno.
int connection_error(int fd);

}  // namespace lambda::dialling
