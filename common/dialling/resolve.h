// A server's addresses by its name. The machine's resolver may take minutes where its name servers
// do not answer, and cannot be told to stop: it is asked on a thread of its own, which is left to
// itself where nobody waits any more; 32 at once. A numeric address is known at once.
#pragma once

#include <vector>

#include "common/base/address.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/dialling/dial.h"
#include "common/dialling/waiting.h"

namespace lambda::dialling {

// At most 16, in the resolver's order. Errors: Fault::session with what the resolver says, or that
// it did not answer by `deadline`; Fault::cut when interrupted, or where no thread is to be had.
Result<std::vector<Address>> resolve(const HostPort& server, Time deadline,
                                     const Interruption& interruption);

}  // namespace lambda::dialling
