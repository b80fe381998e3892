// The end of a transfer with a receipt: the server signs what both ends counted.
#pragma once

#include "client/connection.h"
#include "client/destination.h"
#include "client/receipt/receipt_file.h"
#include "common/receipt/tally.h"

namespace lambda::client {

// After the last byte, on the transfer's own session. `file` holds the lines that `tally` counts.
// Errors: Fault::integrity where the server's account is another, or its signature is none.
Result<void> sign_receipt(Connection& connection, const Plan& plan, const receipt::Tally& tally,
                          ReceiptFile& file);

}  // namespace lambda::client
