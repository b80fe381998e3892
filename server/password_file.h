// The file that a password is given in. Blocking.
#pragma once

#include <string>

#include "common/base/result.h"

namespace lambda::server {

struct PasswordFile {
    std::string password;             // the first line, without its end
    bool readable_by_others = false;  // worth a warning
};
Result<PasswordFile> read_password_file(const std::string& file);

}  // namespace lambda::server
