#include "common/base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lambda {

void assertion_failed(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "lambda-ftp: bug: %s is false (%s:%d)\n", expression, file, line);
    std::abort();
}

std::string Error::sentence() const {
    std::string text;
    if (!path.empty()) text += path + (side == Side::remote ? " (on the server): " : ": ");
    text += message;
    if (!remedy.empty()) text += "; " + remedy;
    return text;
}

const char* to_string(Side side) {
    switch (side) {
        case Side::local:
            return "local";
        case Side::remote:
            return "remote";
        case Side::network:
            return "network";
    }
    LAMBDA_ASSERT(false);
}

const char* to_string(Fault fault) {
    switch (fault) {
        case Fault::usage:
            return "usage";
        case Fault::file:
            return "file";
        case Fault::session:
            return "session";
        case Fault::integrity:
            return "integrity";
        case Fault::cut:
            return "cut";
        case Fault::protocol:
            return "protocol";
        case Fault::unsupported:
            return "unsupported";
    }
    LAMBDA_ASSERT(false);
}

Error errno_error(Fault fault, std::string what, std::string path, int error_number) {
    const char* remedy = "";
    if (error_number == ENOSPC) remedy = "free space, or inodes (df -i), there and start again";
    if (error_number == EDQUOT) remedy = "free space within the quota, or have it raised";
    if (error_number == EMFILE) remedy = "raise the limit of open files (ulimit -n)";
    if (error_number == ENFILE) remedy = "raise the machine's limit of open files (fs.file-max)";
    if (error_number == EROFS) remedy = "mount it for writing, or name another place";
    if (error_number == EFBIG)
        remedy =
            "raise the limit of a file's size (ulimit -f), or use a file system for larger ones";
    return Error{.fault = fault,
                 .message = std::move(what) + ": " + std::strerror(error_number),
                 .path = std::move(path),
                 .side = Side::local,
                 .remedy = remedy,
                 .error_number = error_number};
}

}  // namespace lambda
