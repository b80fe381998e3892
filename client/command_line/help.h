// What `help`, and --help behind a command, tell.
#pragma once

#include <string>

#include "client/command_line/forms.h"

namespace lambda::client {

// How a command is written and the options that it takes; of `help`: the commands, and where to
// read on.
std::string help_text(Action action);

}  // namespace lambda::client
