// How a control session begins (docs/protocol.md §1): AUTH TLS and the ClientHello in one flight,
// the server's plain 220 and 234, then TLS. One round trip after TCP's own and TLS's.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/dialling/dial.h"
#include "common/io/tls/tls.h"

namespace lambda::dialling {

// The handshake is done on return; nothing behind it has been read. Errors: Fault::session;
// Fault::cut when interrupted, and, of Side::remote, where the server has no time just now.
Result<io::TlsStream> begin_tls(io::Descriptor socket, const io::TlsContext& context,
                                const std::string& host, Time deadline,
                                const Interruption& interruption);

}  // namespace lambda::dialling
