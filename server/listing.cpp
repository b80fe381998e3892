#include "server/listing.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/io/file/attributes.h"
#include "common/session/reply.h"

namespace lambda::server {
namespace {

session::EntryType type_of(mode_t mode) {
    if (S_ISREG(mode)) return session::EntryType::file;
    if (S_ISDIR(mode)) return session::EntryType::directory;
    if (S_ISLNK(mode)) return session::EntryType::link;
    return session::EntryType::special;
}

// RFC 3659 §7.5.5: what the account's kind allows, not what the file system may refuse yet.
const char* perm_of(mode_t mode, bool read_only) {
    if (S_ISDIR(mode)) return read_only ? "el" : "cdeflmp";
    return read_only ? "r" : "adfrw";
}

// What cannot be looked at, as where a mounted file system has died: what its directory says of it.
session::Entry unseen(const dirent& found, bool read_only) {
    const mode_t mode = DTTOIF(found.d_type);
    return {.type = type_of(mode),
            .perm = perm_of(mode, read_only),
            .name = found.d_name,
            .looked_at = false};
}

// Empty where it cannot be read any more.
std::string target_of(const Found& link) {
    std::array<char, 4096> text;
    const ssize_t length = ::readlinkat(link.directory, link.name, text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

Result<Listing> Listing::open(const io::Root& root, const std::string& name) {
    Result<io::Descriptor> opened = root.open(name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (!opened) return opened.error();
    DIR* const directory = ::fdopendir(opened->get());
    if (!directory) return errno_error(Fault::file, "cannot list", name, errno);
    opened->release();
    Listing listing(directory, name, root.read_only());
    if (::faccessat(::dirfd(directory), ".", X_OK, AT_EACCESS) != 0)
        return errno_error(Fault::file, "cannot list", name, errno);
    return listing;
}

Result<std::string> Listing::next(std::size_t most) {
    std::string lines;
    while (lines.size() < most) {
        errno = 0;
        const dirent* const found = ::readdir(directory_.get());
        if (!found) {
            if (errno != 0) return errno_error(Fault::file, "cannot list", name_, errno);
            break;
        }
        if (std::strcmp(found->d_name, ".") == 0 || std::strcmp(found->d_name, "..") == 0) continue;
        struct stat status {};
        if (::fstatat(::dirfd(directory_.get()), found->d_name, &status, AT_SYMLINK_NOFOLLOW) !=
            0) {
            if (errno == ENOENT) continue;
            lines +=
                session::format_reply_middle(session::format_entry(unseen(*found, read_only_)));
            continue;
        }
        lines += session::format_reply_middle(session::format_entry(entry_of(
            {::dirfd(directory_.get()), found->d_name, status}, found->d_name, read_only_)));
    }
    return lines;
}

session::Entry entry_of(const Found& found, std::string shown_as, bool read_only) {
    const struct stat& status = found.status;
    session::Entry entry{
        .type = type_of(status.st_mode),
        .size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0,
        .mtime_ns = io::nanoseconds_of(status.st_mtim),
        .mode = status.st_mode & 07777U,
        .perm = perm_of(status.st_mode, read_only),
        .name = std::move(shown_as)};
    if (entry.type != session::EntryType::link) return entry;
    entry.target = target_of(found);
    if (!session::fits_line(" " + session::format_entry(entry))) entry.target.clear();
    return entry;
}

}  // namespace lambda::server
