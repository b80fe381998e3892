// Programs that this one runs, each in a process group of its own, with nothing to read and the
// signals as they are by default. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "client/waiting.h"
#include "common/base/result.h"

namespace lambda::client {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The first of `words` is the program, looked for in PATH. `output`: what becomes its standard
// output; `variables` stand beside our environment. Who spawns it awaits its end.
// Error (Fault::file): it cannot be run.
Result<pid_t> spawn(std::vector<std::string> words, int output, const Variables& variables = {});

struct ChildEnd {
    Wait how;        // ready: by itself; else it was killed, group and all
    int status = 0;  // of waitpid()
};
// Blocks, until the deadline or the user's interruption.
ChildEnd await_end(pid_t child, Time deadline);

}  // namespace lambda::client
