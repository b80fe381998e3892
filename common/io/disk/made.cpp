#include "common/io/disk/made.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"
#include "common/io/file/partial_lock.h"
#include "common/io/file/partial_name.h"

namespace lambda::io {
namespace {

// errno, or 0. Without the right that AT_EMPTY_PATH needs (before Linux 6.10) by /proc.
int link_opened(int file, int directory, const std::string& name) {
    if (::linkat(file, "", directory, name.c_str(), AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT) return errno;
    const std::string magic = "/proc/self/fd/" + std::to_string(file);
    return errno_of(::linkat(AT_FDCWD, magic.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW));
}

}  // namespace

void Made::abandon() {
    // Where somebody removed it, what stands there is another's.
    const bool ours =
        !partial.empty() && still_named(directory->opened.get(), partial, opened.get());
    if (ours) ::unlinkat(directory->opened.get(), partial.c_str(), 0);
    partial.clear();
}

int Made::give_name() {
    if (!nameless && partial.empty()) return 0;
    const int holder = directory->opened.get();
    if (nameless) {
        const int named = link_opened(opened.get(), holder, leaf);
        if (named != EEXIST) return named;
        // Somebody was faster: over that, by a rename.
        // Nobody takes it for one that was left behind.
        const PartialLock lock = lock_partial(opened.get(), path);
        if (lock == PartialLock::another || lock == PartialLock::failed) return errno;
        std::string beside = partial_name(leaf);
        const int error = link_opened(opened.get(), holder, beside);
        if (error != 0) return error;
        partial = std::move(beside);
    }
    if (!still_named(holder, partial, opened.get())) return ENOENT;
    const int error = errno_of(::renameat(holder, partial.c_str(), holder, leaf.c_str()));
    if (error == 0) partial.clear();
    return error;
}

}  // namespace lambda::io
