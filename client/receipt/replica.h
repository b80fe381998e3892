// Where the files of a receipt should be. Pure.
#pragma once

#include <string>

#include "common/transfer/names.h"

namespace lambda::client {

struct Replica {
    transfer::Target target;
    // The target is a directory that the user named: a file that was transferred by itself lies
    // in it.
    bool is_directory = false;

    std::string path_of(const std::string& name) const {
        const bool by_itself = name.find('/') == std::string::npos;
        if (is_directory && by_itself) return transfer::Target{target.path, true}.of(name).text();
        return target.of(name).text();
    }
};

}  // namespace lambda::client
