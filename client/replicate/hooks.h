// What a job runs and tells around a run: commands of the user's, and a webhook. Blocking, and
// bounded by the job's hook_timeout or the user's interruption.
#pragma once

#include <string>

#include "client/child.h"
#include "common/base/result.h"
#include "common/base/time.h"

namespace lambda::client::replicate {

// `sh -c COMMAND` with `variables` beside our environment, in a process group of its own; its
// output goes to our stderr. Errors (Fault::file): it cannot be run, ended with another code than
// 0, or was killed: by us, group and all, when its time was over.
Result<void> run_command(const std::string& command, const Variables& variables, Duration timeout);

// POST of `json` to http://HOST[:PORT]/PATH. Errors (Fault::session): no connection, or an answer
// other than 2xx within 10 s.
Result<void> post_json(const std::string& url, const std::string& json);

}  // namespace lambda::client::replicate
