// What a job's sources hold, as a transfer would find it: by the walker of transfers here, by
// listings at a server. Blocking; ends early when the thread is interrupted.
#pragma once

#include <sys/stat.h>

#include "client/remote/connection.h"
#include "client/replicate/job.h"
#include "client/replicate/listing.h"

namespace lambda::client::replicate {

// Errors: of the machine or the session as a whole; what concerns one name is in the listing.
Result<Listing> scan_here(const Job& job);
Result<Listing> scan_there(const Job& job, const Access& access);

Standing standing_of(const struct stat& status);

}  // namespace lambda::client::replicate
