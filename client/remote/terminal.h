// Questions to the person at the terminal, on /dev/tty, so that redirected output asks nobody else.
#pragma once

#include <string>

#include "common/base/result.h"

namespace lambda::client {

// Errors, both: Fault::session where there is no terminal, or nothing was typed for a password,
// Fault::cut when interrupted.

// True only for "yes" typed in full.
Result<bool> ask_yes(const std::string& question);
// Without echo. `whose`: "password of ann at h"; `instead`: how it is given where there is no
// terminal, for the error.
Result<std::string> ask_password(const std::string& whose, const std::string& instead);

}  // namespace lambda::client
