// What a command writes here beside what it moves: --receipt and --left-over.
#pragma once

#include <string>

#include "client/command_line/arguments.h"
#include "client/transfer/destination.h"

namespace lambda::client {

// Error, Fault::usage: one of them would take the place of a file that `plan` moves, as far as that
// can be told from here, or of the other. What a get finds in a directory is not known.
Result<void> check_outputs(const Plan& plan, const Arguments& arguments);

}  // namespace lambda::client
