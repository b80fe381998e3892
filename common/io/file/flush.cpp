#include "common/io/file/flush.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cerrno>

#include "common/io/file/root.h"

namespace lambda::io {

int sync_directory(int directory, int file) {
    const Descriptor opened(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened) return flush_opened(opened.get());
    // A directory may be writable and yet not readable: then its whole file system.
    return ::syncfs(file);
}

int flush_opened(int file) {
    if (::fsync(file) == 0) return 0;
    const int error_number = errno;
    struct stat status {};
    struct statvfs where {};
    // Some file systems flush no directories; those that are never written to, no files either.
    const bool needless = (::fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) ||
                          (::fstatvfs(file, &where) == 0 && (where.f_flag & ST_RDONLY) != 0);
    errno = error_number;
    return needless && error_number == EINVAL ? 0 : -1;
}

}  // namespace lambda::io
