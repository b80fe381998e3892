// Sources that land on each other: what one holds, and another of that name
// (`sources: [data/, more/runs]` where there is a data/runs). Pure.
#pragma once

#include <vector>

#include "client/replicate/job.h"
#include "client/replicate/listing.h"

namespace lambda::client::replicate {

// Leaves each name to one source, so that no run undoes what another did: the first one's file or
// link stays, what would land on it is in `missed`. Directories become one, with the attributes of
// the one that lies in a source's contents.
void drop_overlaps(Listing& listing, const std::vector<SourceRoot>& roots);

}  // namespace lambda::client::replicate
