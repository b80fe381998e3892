#include "server/password_file.h"

#include <sys/stat.h>

#include <cerrno>

#include "common/io/file/small_file.h"
#include "common/session/facts.h"

namespace lambda::server {
namespace {

constexpr std::size_t kMaxPassword = 1024;
constexpr std::size_t kMaxPasswordFile = 64 * 1024;

}  // namespace

Result<PasswordFile> read_password_file(const std::string& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) {
        return errno_error(Fault::usage, "cannot read the password file", file, errno);
    }
    const auto content = io::read_small_file(file, kMaxPasswordFile);
    if (!content) {
        Error error = content.error();
        error.fault = Fault::usage;
        return error;
    }
    PasswordFile result;
    result.readable_by_others = (status.st_mode & (S_IRGRP | S_IROTH)) != 0;
    result.password = content->substr(0, content->find('\n'));
    if (!result.password.empty() && result.password.back() == '\r') result.password.pop_back();
    if (result.password.empty() || result.password.size() > kMaxPassword) {
        Error error = session::usage_error("the first line holds no password",
                                           "write the password on the first line of the file");
        error.path = file;
        return error;
    }
    return result;
}

}  // namespace lambda::server
