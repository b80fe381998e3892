#include "common/io/file/storage.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "common/io/file/identity.h"

namespace lambda::io {

Storage storage_of(const Descriptor& file) {
    struct statfs where {};
    if (::fstatfs(file.get(), &where) != 0) return Storage::disk;
    if (where.f_type == TMPFS_MAGIC || where.f_type == RAMFS_MAGIC) return Storage::memory;
    return where.f_type == FUSE_SUPER_MAGIC ? Storage::program : Storage::disk;
}

Descriptor open_direct(int directory, const std::string& name, const Descriptor& plain) {
    Descriptor direct(
        ::openat(directory, name.c_str(), O_RDWR | O_DIRECT | O_NOFOLLOW | O_CLOEXEC));
    struct stat ours {};
    struct stat again {};
    if (!direct || ::fstat(plain.get(), &ours) != 0 || ::fstat(direct.get(), &again) != 0 ||
        !same_file(ours, again)) {
        return {};
    }
    return direct;
}

}  // namespace lambda::io
