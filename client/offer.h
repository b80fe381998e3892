// The terms of a transfer as this client offers them, and what follows from the server's agreement.
#pragma once

#include <array>

#include "client/connection.h"
#include "client/destination.h"
#include "common/base/result.h"
#include "common/session/terms.h"
#include "config/client_settings.h"

namespace lambda::client {

// With a fresh nonce.
session::Offer make_offer(const Plan& plan, const config::ClientSettings& settings);

// The server may lessen what was offered, never change its protection, cipher or law, nor ask for
// more. An Error of Fault::protocol names the term.
Result<void> check_agreement(const session::Terms& offered, const session::Terms& agreed);

// docs/protocol.md §5.
Result<std::array<std::byte, 32>> transfer_secret(const Connection& connection,
                                                  const session::Offer& offer,
                                                  const session::Agreement& agreement);

}  // namespace lambda::client
