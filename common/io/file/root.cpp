#include "common/io/file/root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/io/file/identity.h"
#include "common/io/file/shared_barrier.h"
#include "common/ports/disk.h"

namespace lambda::io {
namespace {

// A rename in the jail while the kernel resolves ".." makes it answer EAGAIN (openat2(2)).
constexpr int kResolveTries = 64;

Error name_error(const char* what, const std::string& name, int error_number) {
    if (error_number == EXDEV) {
        return Error{.fault = Fault::file,
                     .message = std::string(what) + ": it leads out of the root",
                     .path = name,
                     .side = Side::local,
                     .remedy = {}};
    }
    return errno_error(Fault::file, what, name, error_number);
}

Error read_only_error(const std::string& name) {
    return Error{.fault = Fault::file,
                 .message = "this account may only read",
                 .path = name,
                 .side = Side::local,
                 .remedy = {}};
}

bool writes(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

// -1 and errno, as open(2).
int open_beneath(int directory, const std::string& name, int flags, mode_t mode) {
    const std::size_t start = name.find_first_not_of('/');
    const std::string relative = start == std::string::npos ? "." : name.substr(start);
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags);
    how.mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    long fd = -1;
    for (int i = 0; i < kResolveTries; ++i) {
        fd = ::syscall(SYS_openat2, directory, relative.c_str(), &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    }
    return static_cast<int>(fd);
}

// "a/b/" and "a/./b" to "a" and "b"; "b" to "." and "b"; "/b" to "/" and "b".
std::pair<std::string, std::string> split(const std::string& name) {
    const std::size_t end = name.find_last_not_of('/');
    if (end == std::string::npos) return {name, {}};
    const std::size_t slash = name.find_last_of('/', end);
    if (slash == std::string::npos) return {".", name.substr(0, end + 1)};
    std::size_t parent_end = name.find_last_not_of('/', slash);
    while (parent_end != std::string::npos && parent_end > 0 &&
           name.compare(parent_end - 1, 2, "/.") == 0)
        parent_end = name.find_last_not_of('/', parent_end - 1);
    return {parent_end == std::string::npos ? "/" : name.substr(0, parent_end + 1),
            name.substr(slash + 1, end - slash)};
}

// The last component as the kernel is to hear of it: "b/" is a directory, or nothing.
std::string spelt(const Root::Place& place, const std::string& name) {
    return name.ends_with('/') ? place.leaf + "/" : place.leaf;
}

}  // namespace

int open_unfollowed(int directory, const std::string& below, int flags) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    return static_cast<int>(::syscall(SYS_openat2, directory, below.c_str(), &how, sizeof how));
}

bool keeps_inodes(const Descriptor& directory) {
    struct statfs where {};
    return ::fstatfs(directory.get(), &where) == 0 && syncfs_is_barrier(where.f_type);
}

Error root_moved(const std::string& name) {
    return Error{.fault = Fault::file,
                 .message =
                     "cannot give it its name: the account's root was moved or unmounted, or "
                     "something else lies there now",
                 .path = name,
                 .side = Side::local,
                 .remedy = "put the root back and run it again"};
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this != &other) {
        if (fd_ >= 0) ::close(fd_);
        fd_ = other.release();
    }
    return *this;
}

Descriptor::~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
}

int open_leased(const Descriptor& found, int flags) {
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        errno = EAGAIN;
        return -1;
    }
    const std::string magic = "/proc/self/fd/" + std::to_string(found.get());
    return ::open(magic.c_str(), (flags | O_CLOEXEC) & ~(O_NONBLOCK | O_NOFOLLOW));
}

Root::Root(Descriptor directory, std::string path, bool read_only, bool allow_null)
    : directory_(std::make_shared<const Descriptor>(std::move(directory))),
      path_(std::move(path)),
      beneath_(!path_.empty()),
      read_only_(read_only),
      allow_null_(allow_null) {}

Root Root::machine(bool allow_null) {
    return Root(Descriptor{}, {}, false, allow_null);
}

Result<Root> Root::jail(const std::string& directory, bool read_only, bool allow_null) {
    Descriptor opened(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!opened) return errno_error(Fault::usage, "cannot open the root", directory, errno);
    const Descriptor probe(open_beneath(opened.get(), ".", O_PATH | O_CLOEXEC, 0));
    if (!probe) {
        return errno_error(Fault::unsupported, "cannot confine names to the root", directory,
                           errno);
    }
    return Root(std::move(opened), directory, read_only, allow_null);
}

bool Root::moved() const {
    struct stat ours {};
    struct stat named {};
    if (!beneath_ || ::fstat(directory_->get(), &ours) != 0) return false;
    if (::stat(path_.c_str(), &named) != 0) return errno == ENOENT || errno == ENOTDIR;
    return named.st_dev != ours.st_dev ||
           (named.st_ino != ours.st_ino && keeps_inodes(*directory_));
}

int Root::open_raw(const std::string& name, int flags, mode_t mode) const {
    if (name.empty()) return -ENOENT;
    if (name.find('\0') != std::string::npos) return -EINVAL;
    flags |= O_CLOEXEC;
    if ((flags & O_PATH) == 0) flags |= O_NOCTTY;
    int fd = beneath_ ? open_beneath(directory_->get(), name, flags, mode)
                      : ::open(name.c_str(), flags, mode);
    if (fd < 0 && errno == EAGAIN && (flags & O_NONBLOCK) != 0) {
        const int found = open_raw(name, O_PATH | (flags & O_NOFOLLOW), 0);
        fd = open_leased(Descriptor(found), flags);
    }
    return fd >= 0 ? fd : -errno;
}

Result<Descriptor> Root::open(const std::string& name, int flags, mode_t mode) const {
    if (read_only_ && writes(flags)) return read_only_error(name);
    const int fd = open_raw(name, flags, mode);
    if (fd < 0) return name_error("cannot open", name, -fd);
    return Descriptor(fd);
}

Result<Root::Place> Root::place(const std::string& name, bool make) const {
    if (make && read_only_) return read_only_error(name);
    auto [parent, leaf] = split(name);
    if (leaf.empty() || leaf == "." || leaf == "..") {
        return name_error("cannot use the name", name, name.empty() ? ENOENT : EISDIR);
    }
    int directory = open_raw(parent, O_PATH | O_DIRECTORY, 0);
    if (directory == -ENOENT && make) {
        auto outer = place(parent, true);
        if (!outer) {
            Error error = outer.error();
            error.path = name;
            return error;
        }
        if (::mkdirat(outer->directory.get(), outer->leaf.c_str(), 0777) != 0 && errno != EEXIST)
            return name_error("cannot make its directory", name, errno);
        directory = open_raw(parent, O_PATH | O_DIRECTORY, 0);
    }
    if (directory < 0) return name_error("cannot reach its directory", name, -directory);
    return Place{Descriptor(directory), std::move(leaf)};
}

bool Root::absent(const std::string& name) const {
    const int fd = open_raw(name, O_PATH, 0);
    if (fd >= 0) ::close(fd);
    return fd == -ENOENT || fd == -ENOTDIR;
}

Result<struct stat> Root::stat(const std::string& name, bool follow) const {
    const auto opened = open(name, O_PATH | (follow ? 0 : O_NOFOLLOW));
    if (!opened) return opened.error();
    struct stat status {};
    if (::fstat(opened->get(), &status) != 0) return name_error("cannot look at", name, errno);
    return status;
}

Result<void> Root::make_directory(const std::string& name) const {
    if (read_only_) return read_only_error(name);
    const auto at = place(name, false);
    if (!at) return at.error();
    if (::mkdirat(at->directory.get(), at->leaf.c_str(), 0777) != 0) {
        return name_error("cannot make the directory", name, errno);
    }
    return {};
}

Result<void> Root::remove_file(const std::string& name) const {
    if (read_only_) return read_only_error(name);
    const auto at = place(name, false);
    if (!at) return at.error();
    if (::unlinkat(at->directory.get(), spelt(*at, name).c_str(), 0) != 0) {
        return name_error("cannot remove", name, errno);
    }
    return {};
}

Result<void> Root::remove_directory(const std::string& name) const {
    if (read_only_) return read_only_error(name);
    const auto at = place(name, false);
    if (!at) return at.error();
    if (::unlinkat(at->directory.get(), at->leaf.c_str(), AT_REMOVEDIR) != 0) {
        return name_error("cannot remove the directory", name, errno);
    }
    return {};
}

Result<void> Root::rename(const std::string& from, const std::string& to) const {
    if (read_only_) return read_only_error(to);
    const auto source = place(from, false);
    if (!source) return source.error();
    const auto target = place(to, false);
    if (!target) return target.error();
    if (ports::is_partial_name(target->leaf)) {
        return Error{.fault = Fault::file,
                     .message = "cannot rename: such names are for what transfers keep",
                     .path = to,
                     .side = Side::local,
                     .remedy = "give it another name"};
    }
    const int old_place = source->directory.get();
    const int new_place = target->directory.get();
    const std::string old_leaf = spelt(*source, from);
    const std::string new_leaf = spelt(*target, to);
    struct stat old_one {};
    struct stat new_one {};
    struct stat old_directory {};
    struct stat new_directory {};
    // Of two names of one file rename(2) leaves both, and says that all is well. As mv(1) does, the
    // old one goes, unless it is the new one.
    const bool one_file =
        ::fstatat(old_place, old_leaf.c_str(), &old_one, AT_SYMLINK_NOFOLLOW) == 0 &&
        ::fstatat(new_place, new_leaf.c_str(), &new_one, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISDIR(old_one.st_mode) && old_one.st_nlink > 1 && same_file(old_one, new_one) &&
        ::fstat(old_place, &old_directory) == 0 && ::fstat(new_place, &new_directory) == 0;
    if (one_file) {
        const bool one_name = same_file(old_directory, new_directory) && old_leaf == new_leaf;
        if (!one_name && ::unlinkat(old_place, old_leaf.c_str(), 0) != 0)
            return name_error("cannot rename", from, errno);
        return {};
    }
    if (::renameat(old_place, old_leaf.c_str(), new_place, new_leaf.c_str()) == 0) return {};
    if (errno == EXDEV) {
        return Error{.fault = Fault::file,
                     .message = "cannot rename: the new name is on another file system",
                     .path = from,
                     .side = Side::local,
                     .remedy = "copy it there, then remove it here"};
    }
    return name_error("cannot rename", from, errno);
}

}  // namespace lambda::io
