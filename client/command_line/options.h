// The options of lambda-ftp: what each is called, says and sets. Which commands take them stands in
// option_scope.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/command_line/arguments.h"

namespace CLI {
class App;
}

namespace lambda::client {

// A parser that writes into `into`, which must outlive it. --help and --version set the action.
std::unique_ptr<CLI::App> make_options(Arguments& into);

std::vector<std::string> option_names();  // with their dashes

}  // namespace lambda::client
