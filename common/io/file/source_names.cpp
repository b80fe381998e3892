#include "common/io/file/source_names.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"

namespace lambda::io {
namespace {

// Nothing between what the user named and the last component can be a link then.
bool followed(const ports::SourceFile& file) {
    return file.follow || file.named >= file.path.size();
}

Error open_error(const std::string& path, int error_number) {
    Error error = file_error("cannot open", path, error_number);
    if (error_number == ELOOP) {
        error.message = "cannot open: a link took its place, or that of a directory that it is in";
        error.remedy = "run the transfer again";
    }
    return error;
}

}  // namespace

Result<SourceNames::Base> SourceNames::base(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    if (base_ != nullptr && base_name_ == name) return base_;
    auto opened = root_.open(name.empty() ? "." : name, O_PATH | O_DIRECTORY);
    if (!opened) return opened.error();
    base_ = std::make_shared<const Descriptor>(*std::move(opened));
    base_name_ = name;
    return base_;
}

Result<int> SourceNames::open_below(const ports::SourceFile& file, int flags) const {
    const auto directory = base(file.path.substr(0, file.named));
    if (!directory) return directory.error();
    const std::size_t below = file.path.find_first_not_of('/', file.named);
    const int fd = open_unfollowed((*directory)->get(), file.path.substr(below), flags);
    return fd >= 0 ? fd : -errno;
}

Result<Descriptor> SourceNames::open(const ports::SourceFile& file, int flags) const {
    auto opened = open_named(file, flags);
    if (!opened || !file.id) return opened;
    struct stat status {};
    if (::fstat(opened->get(), &status) != 0) return file_error("cannot look at", file.path, errno);
    if (status.st_ino == *file.id) return opened;
    return Error{.fault = Fault::file,
                 .message =
                     "cannot be sent: another file took its place, and not that of its "
                     "further names",
                 .path = file.path,
                 .side = Side::local,
                 .remedy = "run the transfer again"};
}

Result<Descriptor> SourceNames::open_named(const ports::SourceFile& file, int flags) const {
    if (followed(file)) return root_.open(file.path, flags | (file.follow ? 0 : O_NOFOLLOW));
    const int terminal = (flags & O_PATH) != 0 ? 0 : O_NOCTTY;  // openat2 takes no two
    auto fd = open_below(file, flags | terminal | O_NOFOLLOW);
    if (fd && *fd == -EAGAIN && (flags & O_NONBLOCK) != 0) {
        const auto found = open_below(file, O_PATH | O_NOFOLLOW);
        if (!found) return found.error();
        const int leased = open_leased(Descriptor(std::max(*found, -1)), flags);
        fd = leased >= 0 ? leased : -errno;
    }
    if (!fd) return fd.error();
    if (*fd < 0) return open_error(file.path, -*fd);
    return Descriptor(*fd);
}

Result<bool> SourceNames::left(const ports::SourceFile& file, const struct stat& opened) const {
    struct stat now {};
    if (followed(file)) {
        const auto shown = root_.stat(file.path, file.follow);
        if (!shown && root_.absent(file.path)) return true;
        if (!shown) return shown.error();
        now = *shown;
    } else {
        const auto fd = open_below(file, O_PATH | O_NOFOLLOW);
        if (!fd) return fd.error();
        if (*fd == -ENOENT || *fd == -ENOTDIR || *fd == -ELOOP) return true;
        if (*fd < 0) return open_error(file.path, -*fd);
        const Descriptor shown(*fd);
        if (::fstat(shown.get(), &now) != 0) return file_error("cannot look at", file.path, errno);
    }
    return !same_file(now, opened);
}

}  // namespace lambda::io
