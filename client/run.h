// The program: settings, command line, the command, the exit code.
#pragma once

namespace lambda::client {

int run(int count, const char* const* arguments);

}  // namespace lambda::client
