// put and get with --stage.
#pragma once

#include "client/command_line/arguments.h"
#include "client/report/report.h"
#include "client/transfer/destination.h"

namespace lambda::client {

// `plan`: of one source and where the whole is to land. Everything that goes wrong, goes to the
// report.
void stage(const Plan& plan, const Arguments& arguments, Report& report);

}  // namespace lambda::client
