// The terms of a transfer as this client offers them.
#pragma once

#include "client/destination.h"
#include "common/session/terms.h"
#include "config/client_settings.h"

namespace lambda::client {

// All but the direction.
session::Terms make_terms(const config::ClientSettings& settings);
// With a fresh nonce.
session::Offer make_offer(const Plan& plan, const config::ClientSettings& settings);

}  // namespace lambda::client
