#include "common/io/file/target_name.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"

namespace lambda::io {
namespace {

constexpr int kDirectory = O_PATH | O_DIRECTORY | O_CLOEXEC;
constexpr int kMostLinks = 40;  // as the kernel (path_resolution(7))

std::pair<std::string, std::string> split(const std::string& below) {
    const std::size_t slash = below.rfind('/');
    if (slash == std::string::npos) return {std::string(), below};
    return {below.substr(0, slash), below.substr(slash + 1)};
}

Error directory_error(const std::string& path, int error_number) {
    if (error_number == ELOOP) {
        return Error{.fault = Fault::file,
                     .message = "cannot reach its directory: a link stands in its place",
                     .path = path,
                     .side = Side::local,
                     .remedy = "remove the link, or name what it shows as the destination"};
    }
    return file_error("cannot reach its directory", path, error_number);
}

// The directory `below` the open one; -errno.
int directory_below(int base, const std::string& below, bool make) {
    if (below.empty()) {
        const int copy = ::fcntl(base, F_DUPFD_CLOEXEC, 0);
        return copy >= 0 ? copy : -errno;
    }
    int opened = open_unfollowed(base, below, kDirectory);
    if (opened >= 0) return opened;
    if (errno != ENOENT || !make) return -errno;
    const auto [outer, leaf] = split(below);
    const int above = directory_below(base, outer, true);
    if (above < 0) return above;
    const Descriptor parent(above);
    if (::mkdirat(parent.get(), leaf.c_str(), 0700) != 0 && errno != EEXIST) return -errno;
    opened = open_unfollowed(parent.get(), leaf, kDirectory);
    return opened >= 0 ? opened : -errno;
}

Result<Descriptor> open_base(const Root& root, const std::string& base, bool make) {
    std::string name = base.empty() ? "." : base;
    while (name.size() > 1 && (name.ends_with('/') || name.ends_with("/."))) name.pop_back();
    auto opened = root.open(name, kDirectory);
    if (opened || !make) return opened;
    const auto place = root.place(name, true);
    if (!place) return place.error().error_number == EISDIR ? opened.error() : place.error();
    if (::mkdirat(place->directory.get(), place->leaf.c_str(), 0777) != 0 && errno != EEXIST)
        return file_error("cannot make the directory", base, errno);
    return root.open(name, kDirectory);
}

}  // namespace

Result<Root::Place> place_of(const Root& root, const ports::TargetName& name, bool make) {
    if (name.below.empty()) return root.place(name.base, make);
    const auto base = open_base(root, name.base, make);
    if (!base) return base.error();
    auto [parent, leaf] = split(name.below);
    const int directory = directory_below(base->get(), parent, make);
    if (directory < 0) return directory_error(name.text(), -directory);
    return Root::Place{Descriptor(directory), std::move(leaf)};
}

Result<NamedPlace> place_behind_links(const Root& root, const std::string& path, bool make) {
    std::string name = path;
    for (int links = 0; links < kMostLinks; ++links) {
        auto place = root.place(name, make);
        if (!place) {
            Error error = place.error();
            error.path = path;
            return error;
        }
        struct stat status {};
        const int directory = place->directory.get();
        if (::fstatat(directory, place->leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            if (errno != ENOENT) return file_error("cannot look at", path, errno);
            return NamedPlace{*std::move(place), 0};
        }
        if (!S_ISLNK(status.st_mode)) return NamedPlace{*std::move(place), status.st_mode & S_IFMT};
        std::array<char, 4096> shown;
        const ssize_t length =
            ::readlinkat(directory, place->leaf.c_str(), shown.data(), shown.size());
        if (length <= 0 || static_cast<std::size_t>(length) == shown.size()) {
            return file_error("cannot follow the link", path, length < 0 ? errno : ENAMETOOLONG);
        }
        const std::string link(shown.data(), static_cast<std::size_t>(length));
        if (link.front() == '/') {
            if (root.jailed())
                return Error{.fault = Fault::file,
                             .message = "cannot write: its link leads out of the root",
                             .path = path,
                             .side = Side::local,
                             .remedy = {}};
            name = link;
        } else {
            const std::size_t slash = name.find_last_of('/', name.find_last_not_of('/'));
            name = (slash == std::string::npos ? "" : name.substr(0, slash + 1)) + link;
        }
    }
    return file_error("cannot follow its links", path, ELOOP);
}

bool differ(const Descriptor& one, const Descriptor& other) {
    struct stat a {};
    struct stat b {};
    return ::fstat(one.get(), &a) == 0 && ::fstat(other.get(), &b) == 0 && !same_file(a, b) &&
           keeps_inodes(one);
}

int open_standing(int directory, const std::string& leaf) {
    constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int opened = ::openat(directory, leaf.c_str(), flags);
    if (opened >= 0 || errno != EAGAIN) return opened;
    return open_leased(
        Descriptor(::openat(directory, leaf.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)), flags);
}

Result<TargetDirectories::Place> TargetDirectories::place(const ports::TargetName& name) {
    LAMBDA_ASSERT(!name.below.empty());
    auto [parent, leaf] = split(name.below);
    const bool same_base = base_ && base_name_ == name.base;
    if (same_base && last_ && last_name_ == parent) return Place{last_, std::move(leaf)};
    if (!same_base) {
        last_.reset();
        auto base = open_base(root_, name.base, make_);
        if (!base) {
            Error error = base.error();
            error.path = name.text();
            return error;
        }
        base_ = std::move(*base);
        base_name_ = name.base;
    }
    const int opened = directory_below(base_.get(), parent, make_);
    if (opened < 0) return directory_error(name.text(), -opened);
    auto directory = std::make_shared<Directory>();
    directory->opened = Descriptor(opened);
    struct stat status {};
    if (::fstat(opened, &status) != 0) return file_error("cannot look at", name.text(), errno);
    directory->device = status.st_dev;
    const auto entered = entered_.find(key_of(name.base, parent));
    directory->ours = entered != entered_.end() && entered->second.ours;
    last_ = std::move(directory);
    last_name_ = std::move(parent);
    return Place{last_, std::move(leaf)};
}

// No name has a NUL.
std::string TargetDirectories::key_of(const std::string& base, const std::string& below) {
    return base + '\0' + below;
}

void TargetDirectories::note_entered(const ports::TargetName& directory, bool made) {
    if (entered_.size() >= kMostEntered) return;
    struct stat status {};
    if (directory.below.empty()) {
        const auto base = open_base(root_, directory.base, false);
        if (!base || ::fstat(base->get(), &status) != 0) return;
    } else {
        const auto found = place(directory);
        if (!found || ::fstatat(found->directory->opened.get(), found->leaf.c_str(), &status,
                                AT_SYMLINK_NOFOLLOW) != 0)
            return;
    }
    entered_.insert_or_assign(
        key_of(directory.base, directory.below),
        Entered{.device = status.st_dev, .inode = status.st_ino, .ours = made});
}

Result<void> TargetDirectories::check_done(const ports::TargetName& directory,
                                           const Descriptor& done) {
    const auto entered = entered_.extract(key_of(directory.base, directory.below));
    if (last_name_ == directory.below) last_.reset();
    struct stat status {};
    if (entered.empty() || ::fstat(done.get(), &status) != 0) return {};
    const Entered& before = entered.mapped();
    const bool same = status.st_dev == before.device && status.st_ino == before.inode;
    if (same || !keeps_inodes(done)) return {};
    return Error{.fault = Fault::file,
                 .message = "another directory took its place while it was written",
                 .path = directory.text(),
                 .side = Side::local,
                 .remedy = "run it again; what was written lies in the one that was moved away"};
}

}  // namespace lambda::io
