// The end that dialled agrees with the server on a transfer (docs/protocol.md §3), and what follows
// from it.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/dialling/connection.h"
#include "common/mover/mover.h"
#include "common/session/terms.h"

namespace lambda::dialling {

// XFER and its answer. The server may lessen what was offered, never change its protection, cipher
// or law, nor ask for more: an Error of Fault::protocol names the term. A refusal is an Error about
// `path`: Fault::cut where it may pass.
Result<session::Agreement> agree(Connection& connection, const session::Offer& offer,
                                 const std::string& path);

// Of the server's answer to XFER.
Fault fault_of_refusal(int code);

// What agree() holds an answer against.
Result<void> check_agreement(const session::Terms& offered, const session::Terms& agreed);

// docs/protocol.md §5.
Result<mover::TransferSecret> transfer_secret(const Connection& connection,
                                              const session::Offer& offer,
                                              const session::Agreement& agreement);

}  // namespace lambda::dialling
