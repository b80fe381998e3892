// What a call on a file says by errno.
#pragma once

#include <cerrno>
#include <string>

#include "common/base/result.h"

namespace lambda::io {

// An Error of a file with the remedy that fits the errno.
Error file_error(const std::string& what, const std::string& path, int error_number);
// Of a call that gives 0 where all is well.
inline int errno_of(int result) {
    return result == 0 ? 0 : errno;
}

}  // namespace lambda::io
