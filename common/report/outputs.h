// The files that a run writes beside its work.
#pragma once

#include <initializer_list>
#include <string>

#include "common/base/result.h"

namespace lambda::report {

struct Output {
    const char* option;
    const std::string& file;  // empty: none is wanted
};

// Whether the two names mean one file, or would.
bool one_file(const std::string& one, const std::string& other);
// Error, Fault::usage: two of them are one file, and each would begin it anew. What stands there
// and is no file, a pipe or a device, takes several.
Result<void> check_apart(std::initializer_list<Output> outputs);

}  // namespace lambda::report
