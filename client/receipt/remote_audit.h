// The part of an audit whose files are at a server: sizes and digests asked for ahead, so that a
// round trip is not paid for each.
#pragma once

#include "client/command_line/arguments.h"
#include "client/receipt/findings.h"
#include "client/receipt/receipt_reader.h"
#include "client/receipt/replica.h"
#include "client/remote/place.h"

namespace lambda::client {

struct RemoteReplica {
    Replica replica;
    bool looks = false;  // whether its target is a directory, is to be found out
    bool shown = false;  // the server is the one that signed: it shows its key
};

void audit_there(ReceiptReader& receipt, const Server& server, RemoteReplica place,
                 const Arguments& arguments, Findings& findings, Report& report);

}  // namespace lambda::client
