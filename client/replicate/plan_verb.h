// `replicate JOB plan`: what a run would do, without doing any of it.
#pragma once

#include "client/command_line/arguments.h"
#include "client/replicate/job.h"
#include "client/report/report.h"

namespace lambda::client::replicate {

Result<void> show_plan(const Job& job, const Access& access, Report& report);

}  // namespace lambda::client::replicate
