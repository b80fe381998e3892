// Where the names of one side begin. A server's root is a jail: every name is resolved by openat2
// with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS, a leading '/' means the root itself. A client's
// root is the machine: names are as the shell gave them.
// Errors carry the name as it was asked for, never the place of the jail. Thread-safe: no state but
// the directory's descriptor and its name.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace lambda::io {

// A file descriptor with one owner.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    int get() const { return fd_; }
    int release() {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_ = -1;
};

// For a file that an open(2) with these flags, O_NONBLOCK among them, answered EAGAIN for: it has a
// lease (fcntl(2); Samba's, nfsd's) that its holder is now to give up. Waits for that, which the
// kernel ends itself after /proc/sys/fs/lease-break-time. `found`: by O_PATH. -1 and errno: still
// EAGAIN where it is no regular file.
int open_leased(const Descriptor& found, int flags);

// Whether a directory's inode number stays what it is: the local file systems, which are those
// whose syncfs() is a barrier, and not FAT or FUSE.
bool keeps_inodes(const Descriptor& directory);

// openat2 of what lies below a directory, without following a link. -1 and errno.
int open_unfollowed(int directory, const std::string& below, int flags);

// Of a file that was written below one that moved().
Error root_moved(const std::string& name);

// A copy is the same root, by the same descriptor.
class Root {
  public:
    static Root machine(bool allow_null = false);
    static Result<Root> jail(const std::string& directory, bool read_only, bool allow_null);

    bool read_only() const { return read_only_; }
    bool allow_null() const { return allow_null_; }
    bool jailed() const { return beneath_; }
    // Whether the jail's own name is seen to lead elsewhere, or nowhere: it was moved, or something
    // was mounted there, or is no more. What is made in it is then not where its users look.
    bool moved() const;

    // openat2 below the root. `flags` as open(2); O_CLOEXEC and O_NOCTTY are added. Opening a pipe
    // may block: give O_NONBLOCK where the name may be one. A lease on a file is waited for anyway,
    // as open_leased() does.
    Result<Descriptor> open(const std::string& name, int flags, mode_t mode = 0) const;
    // The directory that holds `name`, opened with O_PATH, and the last component (slashes behind
    // it are dropped), which is not followed where it is a link. Where `make` is set, missing
    // directories are made (0777 & ~umask).
    struct Place {
        Descriptor directory;
        std::string leaf;
    };
    Result<Place> place(const std::string& name, bool make) const;

    // Nothing stands there; false also where that cannot be told.
    bool absent(const std::string& name) const;
    Result<struct stat> stat(const std::string& name, bool follow) const;
    Result<void> make_directory(const std::string& name) const;
    // Here and in rename() a name with a slash behind it is a directory's, as it is to the kernel.
    Result<void> remove_file(const std::string& name) const;
    Result<void> remove_directory(const std::string& name) const;
    Result<void> rename(const std::string& from, const std::string& to) const;

  private:
    Root(Descriptor directory, std::string path, bool read_only, bool allow_null);
    // A descriptor, or -errno.
    int open_raw(const std::string& name, int flags, mode_t mode) const;
    std::shared_ptr<const Descriptor> directory_;  // of a jail
    std::string path_;                             // of the jail
    bool beneath_ = false;
    bool read_only_ = false;
    bool allow_null_ = false;
};

}  // namespace lambda::io
