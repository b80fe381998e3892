// lambda-ftp replicate JOB.yaml [plan|run|status|pause|resume|cancel|history|watch].
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"

namespace lambda::client {

// Everything that goes wrong, goes to the report.
void replicate_job(const Arguments& arguments, Report& report);

}  // namespace lambda::client
