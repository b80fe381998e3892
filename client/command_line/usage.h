// What is wrong with what the user said, on the command line or in a file of his own.
#pragma once

#include <string>
#include <utility>

#include "common/base/result.h"

namespace lambda::client {

// `path`: the word or file concerned; empty where there is none.
inline Error usage(std::string path, std::string message, std::string remedy) {
    return Error{.fault = Fault::usage,
                 .message = std::move(message),
                 .path = std::move(path),
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

}  // namespace lambda::client
