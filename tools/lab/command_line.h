// The command line of lambda-lab.
#pragma once

namespace lambda::lab {

// Does what the command line says. The exit code: the main command's own; 2 where the command line
// or the path is wrong, 3 where this machine cannot be a lab or a background command did not get
// ready. Throws what the libraries throw.
int run_command_line(int count, char** words);

}  // namespace lambda::lab
