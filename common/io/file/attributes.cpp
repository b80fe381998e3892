#include "common/io/file/attributes.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"

namespace lambda::io {
namespace {

// A value and a list of names have at most 64 KiB (xattr(7)).
constexpr std::size_t kMostXattr = 65536;

// A path that reaches the entry and nothing else: the l*xattr calls have no "at" form.
std::string path_of(const Entry& entry) {
    std::string path = "/proc/self/fd/" + std::to_string(entry.descriptor);
    if (entry.name != nullptr) (path += '/') += entry.name;
    return path;
}

// The magic link itself must be followed to reach a descriptor's own entry.
ssize_t list(const Entry& entry, char* into, std::size_t size) {
    const std::string path = path_of(entry);
    return entry.name != nullptr ? ::llistxattr(path.c_str(), into, size)
                                 : ::listxattr(path.c_str(), into, size);
}
ssize_t get(const Entry& entry, const char* name, char* into, std::size_t size) {
    const std::string path = path_of(entry);
    return entry.name != nullptr ? ::lgetxattr(path.c_str(), name, into, size)
                                 : ::getxattr(path.c_str(), name, into, size);
}
int set(const Entry& entry, const ports::ExtendedAttribute& attribute) {
    const std::string path = path_of(entry);
    const auto* value = attribute.value.data();
    const std::size_t size = attribute.value.size();
    return entry.name != nullptr ? ::lsetxattr(path.c_str(), attribute.name.c_str(), value, size, 0)
                                 : ::setxattr(path.c_str(), attribute.name.c_str(), value, size, 0);
}
int remove(const Entry& entry, const char* name) {
    const std::string path = path_of(entry);
    return entry.name != nullptr ? ::lremovexattr(path.c_str(), name)
                                 : ::removexattr(path.c_str(), name);
}

// Of the four classes of xattr(7). Others ("btrfs.", "lustre.", "afs."), and of "system." all but
// ACLs, are interfaces of file systems, which another has not; so are some of "trusted.": a layout,
// or each ACL a second time in a form of its own. What only root may read, root alone keeps.
bool kept(std::string_view name) {
    if (name.starts_with("user.") || name.starts_with("system.posix_acl_")) return true;
    if (::geteuid() != 0 || name == "security.evm") return false;
    if (name.starts_with("security.")) return true;
    return name.starts_with("trusted.") && name != "trusted.lov" &&
           !name.starts_with("trusted.SGI_") && !name.starts_with("trusted.glusterfs.");
}

Result<std::vector<std::string>> names_of(const Entry& entry, const std::string& path) {
    std::vector<std::string> names;
    std::array<char, 512> few;
    ssize_t size = list(entry, few.data(), few.size());
    std::vector<char> many;
    const char* text = few.data();
    if (size < 0 && errno == ERANGE) {
        many.resize(kMostXattr);
        size = list(entry, many.data(), many.size());
        text = many.data();
    }
    if (size < 0) {
        if (errno == ENOTSUP) return names;
        return file_error("cannot list its extended attributes", path, errno);
    }
    for (const char* at = text; at < text + size;) {
        const std::string name(at);
        at += name.size() + 1;
        if (kept(name)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

// Root may give any; but not to whom its user namespace, or the file server, knows nothing of.
bool may_not_give() {
    return errno == EPERM || errno == EINVAL;
}

Result<bool> give(const Entry& entry, const ports::Owner& owner, const std::string& path) {
    const char* name = entry.name != nullptr ? entry.name : "";
    const int flags = AT_SYMLINK_NOFOLLOW | (entry.name == nullptr ? AT_EMPTY_PATH : 0);
    if (::fchownat(entry.descriptor, name, owner.user, owner.group, flags) == 0) return true;
    if (!may_not_give()) return file_error("cannot set the owner", path, errno);
    // One of our own groups, or none.
    const auto same_user = static_cast<uid_t>(-1);
    if (::fchownat(entry.descriptor, name, same_user, owner.group, flags) != 0 && !may_not_give())
        return file_error("cannot set the group", path, errno);
    struct stat status {};
    if (::fstatat(entry.descriptor, name, &status, flags) != 0) {
        return file_error("cannot look at", path, errno);
    }
    return status.st_uid == owner.user && status.st_gid == owner.group;
}

// "user." attributes take leave to write by the mode, which their owner may lack, too. Whether he
// had to be given it; else errno stays.
bool opened_for_writing(const Entry& entry) {
    const int error_number = errno;
    struct stat status {};
    const bool opened = error_number == EACCES && entry.name == nullptr && !entry.link &&
                        ::fstat(entry.descriptor, &status) == 0 &&
                        (status.st_mode & S_IWUSR) == 0 &&
                        ::fchmod(entry.descriptor, (status.st_mode & 07777) | S_IWUSR) == 0;
    errno = error_number;
    return opened;
}

// 0, or -1 and errno.
template <typename Change>
int change(const Entry& entry, const Change& once) {
    const int result = once();
    return result != 0 && opened_for_writing(entry) ? once() : result;
}

// Exactly those: what a directory's default ACL gave is taken away again. False: but for some that
// we may not set.
Result<bool> replace_extended(const Entry& entry,
                              const std::vector<ports::ExtendedAttribute>& wanted,
                              const std::string& path) {
    const auto names = names_of(entry, path);
    if (!names) return names.error();
    for (const std::string& name : *names) {
        const bool stays = std::any_of(wanted.begin(), wanted.end(),
                                       [&](const auto& each) { return each.name == name; });
        if (!stays && !ports::is_label(name) &&
            change(entry, [&] { return remove(entry, name.c_str()); }) != 0 && errno != ENODATA) {
            return file_error("cannot remove the extended attribute " + name, path, errno);
        }
    }
    bool whole = true;
    for (const ports::ExtendedAttribute& attribute : wanted) {
        if (!kept(attribute.name)) {
            whole = whole && ports::is_label(attribute.name);
            continue;
        }
        if (change(entry, [&] { return set(entry, attribute); }) != 0) {
            const int error_number = errno;
            Error error = file_error("cannot set the extended attribute " + attribute.name, path,
                                     error_number);
            if (error_number == ENOTSUP)
                error.remedy = "leave --archive out, or name a file system that has them";
            if (error_number == ENOSPC)  // also of one for which a file has no room there
                error.remedy = "free space there; if there is some, leave --archive out";
            return error;
        }
    }
    return whole;
}

// The mode that it has then; nothing: errno.
std::optional<mode_t> give_mode(int file, mode_t mode, bool owned, bool set_id) {
    struct stat status {};
    if (::fstat(file, &status) != 0) return std::nullopt;
    const mode_t given = ports::given_mode(mode, owned, S_ISDIR(status.st_mode), set_id);
    // To look costs a fraction of a change, which goes through the file system's journal.
    if ((status.st_mode & 07777) != given && ::fchmod(file, given) != 0) return std::nullopt;
    return given;
}

timespec timespec_of(std::int64_t ns) {
    constexpr std::int64_t second = 1'000'000'000;
    timespec time{};
    time.tv_sec = static_cast<time_t>(ns / second - (ns % second < 0 ? 1 : 0));
    time.tv_nsec = static_cast<long>(ns - std::int64_t{time.tv_sec} * second);
    return time;
}

int set_time(const Entry& entry, std::int64_t mtime_ns) {
    // Not UTIME_OMIT: file systems on libfuse's older interface then set nothing, and say it is
    // done.
    const timespec times[2] = {{0, UTIME_NOW}, timespec_of(mtime_ns)};
    if (entry.link)
        return ::utimensat(entry.descriptor, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    return entry.name != nullptr
               ? ::utimensat(entry.descriptor, entry.name, times, AT_SYMLINK_NOFOLLOW)
               : ::futimens(entry.descriptor, times);
}

}  // namespace

bool gives_set_id(const Root& root) {
    return !root.jailed() || ::geteuid() == 0;
}

bool is_top(const Root& root, const struct stat& status) {
    if (!root.jailed()) return false;
    const auto top = root.stat(".", false);
    return top && same_file(*top, status);
}

ports::Rights rights_in(const Root& root) {
    ports::Rights rights{.privileged = ::geteuid() == 0,
                         .set_id = gives_set_id(root),
                         .user = ::geteuid(),
                         .groups = {::getegid()}};
    std::vector<gid_t> more(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
    if (::getgroups(static_cast<int>(more.size()), more.data()) > 0)
        rights.groups.insert(rights.groups.end(), more.begin(), more.end());
    return rights;
}

std::int64_t nanoseconds_of(const timespec& time) {
    std::int64_t ns = 0;
    if (__builtin_mul_overflow(std::int64_t{time.tv_sec}, std::int64_t{1'000'000'000}, &ns) ||
        __builtin_add_overflow(ns, std::int64_t{time.tv_nsec}, &ns))
        return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

Result<ports::Archived> archived_of(const Entry& entry, const struct stat& status,
                                    const std::string& path) {
    ports::Archived archived{.owner = {status.st_uid, status.st_gid}};
    const auto names = names_of(entry, path);
    if (!names) return names.error();
    std::vector<char> value;
    for (const std::string& name : *names) {
        value.resize(kMostXattr);
        const ssize_t size = get(entry, name.c_str(), value.data(), value.size());
        if (size < 0) {
            if (errno == ENODATA) continue;
            return file_error("cannot read the extended attribute " + name, path, errno);
        }
        archived.extended.push_back(
            {name, std::string(value.data(), static_cast<std::size_t>(size))});
    }
    return archived;
}

Result<ports::FileMetadata> metadata_of(const Entry& entry, const struct stat& status, bool archive,
                                        const std::string& path) {
    ports::FileMetadata metadata;
    metadata.size = static_cast<std::uint64_t>(status.st_size);
    metadata.mtime_ns = nanoseconds_of(status.st_mtim);
    metadata.mode = status.st_mode & 07777;
    if (!archive) return metadata;
    auto archived = archived_of(entry, status, path);
    if (!archived) return archived.error();
    metadata.archived = *std::move(archived);
    return metadata;
}

Result<bool> apply(const Entry& entry, const ports::FileMetadata& metadata, bool set_id,
                   const std::string& path) {
    bool owned = false;
    bool whole = true;
    if (metadata.archived) {
        const auto given = give(entry, metadata.archived->owner, path);
        if (!given) return given;
        whole = owned = *given;
    }
    // Before the mode, which may take away what it needs. ACLs and it agree in what they share.
    if (metadata.archived) {
        const auto replaced = replace_extended(entry, metadata.archived->extended, path);
        if (!replaced) return replaced.error();
        whole = whole && *replaced;
    }
    if (entry.name == nullptr && !entry.link) {
        const auto mode = give_mode(entry.descriptor, metadata.mode, owned, set_id);
        if (!mode) return file_error("cannot set the mode", path, errno);
        if (metadata.archived && *mode != (metadata.mode & 07777)) whole = false;
    }
    if (set_time(entry, metadata.mtime_ns) != 0)
        return file_error("cannot set the time", path, errno);
    return whole;
}

Result<bool> apply_named(const Root& root, int descriptor, const ports::FileMetadata& metadata,
                         const std::string& path) {
    const Entry entry{.descriptor = descriptor};
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return file_error("cannot look at", path, errno);
    if (!is_top(root, status)) return apply(entry, metadata, gives_set_id(root), path);
    set_time(entry, metadata.mtime_ns);
    return true;
}

}  // namespace lambda::io
