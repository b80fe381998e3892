// Which commands take which options. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "client/command_line/forms.h"

namespace lambda::client {

// In the order in which help tells of them. An option of its own is refused by commands that do not
// take it; those of the others may stand anywhere, as the settings file holds for all commands.
enum class OptionKind { own, connection, setting, general };

struct OptionScope {
    std::string_view option;  // with its dashes
    OptionKind kind;
    std::string_view commands;  // by name, a blank between two; empty: all

    bool takes(const Form& form) const;
};

std::span<const OptionScope> option_scopes();
const OptionScope& scope_of(std::string_view option);  // must be one of them

// "put, get and sync"
std::string commands_of(const OptionScope& scope);

}  // namespace lambda::client
