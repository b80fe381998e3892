#include "client/command_line/number_option.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "common/session/facts.h"

namespace lambda::client {

std::uint64_t number_of(const char* option, const std::string& text) {
    const auto number = session::parse_number(text);
    if (!number) throw CLI::ValidationError(option, "'" + text + "' is no number from 0 on");
    return *number;
}

}  // namespace lambda::client
