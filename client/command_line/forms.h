// The commands of lambda-ftp: what each is called, and how many operands it takes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lambda::client {

enum class Action {
    put,
    get,
    copy,
    copies,
    sync,
    trial,
    ls,
    stat,
    mkdir,
    rm,
    rmdir,
    mv,
    checksum,
    audit,
    replicate,
    ping,
    version,
    completion,
    help
};

struct Form {
    Action action;
    const char* name;
    std::size_t least;
    std::size_t most;
    const char* operands;
    const char* about;

    // "lambda-ftp NAME OPERANDS"
    std::string usage() const;
};

std::span<const Form> forms();
const Form& form_of(Action action);
const Form* find_form(std::string_view name);  // null: there is no such command

}  // namespace lambda::client
