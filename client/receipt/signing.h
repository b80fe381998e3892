// The end of a transfer with a receipt: the server signs what both ends counted.
#pragma once

#include "client/receipt/receipt_file.h"
#include "client/remote/connection.h"
#include "client/transfer/destination.h"
#include "common/receipt/lines.h"
#include "common/receipt/tally.h"

namespace lambda::client {

// After the last byte, on the transfer's own session. `file` holds the lines that `tally` counts.
// Errors: Fault::integrity where what the server signs is not what was done, or its signature is
// none.
// `into_directory`: put: as agreed.
Result<void> sign_receipt(Connection& connection, const Plan& plan, const Access& access,
                          bool into_directory, const receipt::Tally& tally, ReceiptFile& file);

// What of the statement is not as this end knows it, but for its time; empty: nothing. Pure.
// `known` has no number, and as time that of now.
std::string difference(const receipt::Statement& signed_one, const receipt::Statement& known);
// What the two clocks say, where they are too far apart; else empty. Pure.
std::string clocks_apart(const receipt::Statement& signed_one, const receipt::Statement& known);

}  // namespace lambda::client
