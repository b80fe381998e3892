// What a run did not do, for its next try, and for the next run: the sources as the user gave them,
// each ended by a NUL (xargs -0 takes them).
#pragma once

#include <string>
#include <vector>

#include "client/report/report.h"
#include "client/transfer/destination.h"
#include "common/base/result.h"
#include "common/mover/mover.h"

namespace lambda::client {

// The sources of which something was not done, or may not have been.
std::vector<std::string> undone(const Plan& plan, const mover::Outcome& outcome);
// Leaves in `plan` what a next try has to do: what is neither done nor failed. False: nobody can
// tell, and all of it is tried again from the beginning. What came out of a tree tells nothing of
// an item that has the same name, nor of the tree as a whole; nor does a name that two sources
// have.
bool drop_settled(Plan& plan, const mover::Outcome& outcome);
// Whether such a list can be written to `file`, as far as its place tells: before anything is
// moved.
Result<void> check_left_over(const std::string& file);
// Written to `file`, or where that is empty to a fresh one in the state directory, where the newest
// hundred stay. Returns where.
Result<std::string> write_left_over(const std::string& file,
                                    const std::vector<std::string>& sources);
// What of these sources is left over is listed as above, and said; of none, as below.
void keep_left_over(const std::string& file, const std::vector<std::string>& sources,
                    Report& report);
// All is done: what an earlier run listed in `file` is not left over any more. No file stays none.
Result<void> empty_left_over(const std::string& file);

}  // namespace lambda::client
