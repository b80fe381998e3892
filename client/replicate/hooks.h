// What a job runs and tells around a run: commands of the user's, and a webhook. Blocking, and
// bounded by the job's hook_timeout or the user's interruption.
#pragma once

#include <string>

#include "client/child.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/dialling/dial.h"

namespace lambda::client::replicate {

struct Hook {
    const char* key;  // of the job
    std::string command;
};
// `sh -c COMMAND` with `variables` beside our environment, in a process group of its own; its
// output goes to our stderr. Errors (Fault::file): it cannot be run, ended with another code than
// 0, or was killed: by us, group and all, when its time was over.
Result<void> run_command(const Hook& hook, const Variables& variables, Duration timeout);

// http://HOST[:PORT][/PATH]
struct Webhook {
    dialling::HostPort server;
    std::string authority;  // as it was written
    std::string path;
};
// Errors (Fault::usage): another scheme, or no host and port.
Result<Webhook> parse_webhook(const std::string& url);
// POST of `json` to what parse_webhook() takes. Errors (Fault::session): no connection, or an
// answer other than 2xx within 10 s.
Result<void> post_json(const std::string& url, const std::string& json);

}  // namespace lambda::client::replicate
