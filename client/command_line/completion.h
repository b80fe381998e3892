// A bash completion script, made from the names that the command line knows. Pure.
#pragma once

#include <string>

namespace lambda::client {

std::string completion_script();

}  // namespace lambda::client
