// What becomes of a run once this process has done its part: how it ends in the store, what the
// user and others are told, and the list of what is left over.
#pragma once

#include <string>
#include <vector>

#include "client/replicate/conductor.h"
#include "client/replicate/job.h"
#include "client/replicate/store.h"
#include "client/report/report.h"

namespace lambda::client::replicate {

// What this process did of a run.
struct Part {
    const Run& run;
    const std::string& owner;
    const Ending& ending;
    bool went_on = false;  // with what others had begun
};

// How the run stands after that.
struct Conclusion {
    Run run;
    bool ours = false;                // it was this process that ended it
    std::vector<SiteStatus> sites{};  // none: not known
};

// What this process knows of a run by itself, whatever becomes of the state.
void tell_known(const Ending& known, Report& report);

// Puts an end to the run, in the store and for the user; where other movers go on with it, for the
// user alone. `conclusion` has what is known also after an error.
Result<void> conclude(const Job& job, const Part& part, Store& store,
                      const std::string& left_over_file, Report& report, Conclusion& conclusion);

// The command is the host's, the webhook the run's.
void tell_others(const Job& job, const Conclusion& conclusion, Report& report);

}  // namespace lambda::client::replicate
