// The part of an audit whose files are at a server: sizes and digests asked for ahead, so that a
// round trip is not paid for each.
#pragma once

#include "client/arguments.h"
#include "client/place.h"
#include "client/receipt/findings.h"
#include "client/receipt/receipt_reader.h"
#include "common/transfer/names.h"

namespace lambda::client {

void audit_there(ReceiptReader& receipt, const Server& server, const transfer::Target& target,
                 const Arguments& arguments, Findings& findings, Report& report);

}  // namespace lambda::client
