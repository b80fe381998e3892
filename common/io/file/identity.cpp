#include "common/io/file/identity.h"

#include <fcntl.h>

namespace lambda::io {

bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool still_named(int directory, const std::string& name, int fd) {
    struct stat ours {};
    struct stat named {};
    return ::fstat(fd, &ours) == 0 &&
           ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           same_file(ours, named);
}

std::uint64_t further_names(const struct stat& status) {
    return status.st_nlink > 1 ? status.st_nlink - 1 : 0;
}

}  // namespace lambda::io
