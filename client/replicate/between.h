// Loads of a job whose sources are at one server and whose destinations are at others: the servers
// copy, this end conducts (docs/copy.md). Blocking; ends early when the thread is interrupted.
#pragma once

#include "client/command_line/arguments.h"
#include "client/remote/connection.h"
#include "client/replicate/carrier.h"

namespace lambda::client::replicate {

// How to get in where the sources are. No password of a destination is shown there.
Access source_access(Access access, const Job& job);

// As Carrier::carry(). `arguments`: those of a session of this job.
Result<mover::Outcome> carry_between(const Job& job, Arguments arguments, const Load& load,
                                     const Progressed& progressed);

}  // namespace lambda::client::replicate
