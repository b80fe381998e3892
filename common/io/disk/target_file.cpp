#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/flush.h"
#include "common/io/file/identity.h"
#include "common/io/file/next_data.h"
#include "common/io/file/open_file.h"
#include "common/io/file/partial_lock.h"
#include "common/io/file/partial_name.h"
#include "common/io/file/read_full.h"
#include "common/io/file/storage.h"
#include "common/io/file/target_name.h"
#include "common/io/file/virtual_file.h"
#include "common/io/file/write_all.h"
#include "common/io/process.h"

namespace lambda::io {
namespace {

constexpr std::uint64_t kLookedAtOnce = 1 << 20;
// Of a hole, read in some seconds.
constexpr std::uint64_t kMostCleared = std::uint64_t{4} << 30;
// A writer that commits between our open and our lock takes its file's name away: look again.
constexpr int kLockTries = 16;
constexpr auto kLockPause = std::chrono::milliseconds(20);
constexpr auto kLockWait = std::chrono::milliseconds(1000);
static_assert(kLockWait % kLockPause == std::chrono::milliseconds(0));

Error target_error(const std::string& path, std::string message, std::string remedy = {}) {
    return Error{.fault = Fault::file,
                 .message = std::move(message),
                 .path = path,
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

Error being_written(const std::string& path) {
    Error error =
        target_error(path, "another transfer is writing this file", "wait for its end, or stop it");
    error.fault = Fault::cut;  // it may pass
    return error;
}

// Finds target.place below what the user named. Returns what is in the way there: S_IFDIR, or 0.
// Anything else is replaced by the rename: a link, and a device or a pipe, too, which nobody named.
Result<mode_t> find_below(const Root& root, const ports::TargetName& name, OpenFile& target) {
    auto place = place_of(root, name, true);
    if (!place) return place.error();
    target.place = std::move(*place);
    struct stat status {};
    if (::fstatat(target.place.directory.get(), target.place.leaf.c_str(), &status,
                  AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) return file_error("cannot look at", target.path, errno);
        return mode_t{0};
    }
    return S_ISDIR(status.st_mode) ? mode_t{S_IFDIR} : mode_t{0};
}

// Finds target.place. Returns what stands there now: S_IFMT bits, or 0 for nothing.
Result<mode_t> find_named(const Root& root, OpenFile& target) {
    auto found = place_behind_links(root, target.path, true);
    if (!found) return found.error();
    target.place = std::move(found->place);
    return found->type;
}

Error no_partial(const std::string& path, const std::string& partial) {
    return target_error(path, "cannot create: " + partial + " beside it is no partial file",
                        "remove it");
}

// The journal of what stands there, if this transfer goes on with that.
std::vector<std::byte> journal_kept(OpenFile& target, const struct stat& status,
                                    const ports::Disk::Keep& keep) {
    // A journal beside an empty file is of another that is gone.
    if (!keep || status.st_size == 0) return {};
    auto journal = open_journal(target);
    target.keep = !journal.empty() && keep(journal);
    if (!target.keep) journal.clear();
    return journal;
}

// Whether somebody else may have made it, who would own what becomes of it: another's file, in a
// directory where not its owner alone makes names.
bool may_be_planted(int directory, const struct stat& status) {
    struct stat around {};
    return status.st_uid != ::geteuid() &&
           (::fstat(directory, &around) != 0 || (around.st_mode & (S_IWGRP | S_IWOTH)) != 0);
}

// Opens the partial file, ours alone: made by us, or locked, and the name still shows it. Its
// journal, where it is kept; else it is empty.
Result<std::vector<std::byte>> open_partial(OpenFile& target, const ports::Disk::Keep& keep) {
    const int directory = target.place.directory.get();
    if (is_spare(directory)) return file_error("cannot create", target.path, EMFILE);
    const std::string partial = partial_name(target.place.leaf);
    auto waited = std::chrono::milliseconds(0);
    for (int i = 0; i < kLockTries; ++i) {
        constexpr int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
        Descriptor file(::openat(directory, partial.c_str(), flags | O_CREAT | O_EXCL, 0600));
        // No writer takes away a name that is to be made: it is the directory that refuses (/proc).
        if (!file && errno == ENOENT) {
            return target_error(target.path,
                                "cannot create: its directory was removed, or takes no new files",
                                "name another directory");
        }
        const bool stands = !file && errno == EEXIST;
        if (stands) file = Descriptor(::openat(directory, partial.c_str(), flags));
        if (!file) {
            if (errno == ENOENT) continue;  // it was removed in between
            if (errno == EISDIR || errno == ELOOP) return no_partial(target.path, partial);
            return file_error(
                stands ? "cannot take over " + partial + " beside it" : "cannot create",
                target.path, errno);
        }
        const auto give_up = [&](const std::string& what) {
            Error error = file_error(what, target.path, errno);
            if (!stands) ::unlinkat(directory, partial.c_str(), 0);
            return error;
        };
        const PartialLock lock = lock_partial(file.get(), target.path);
        if (lock == PartialLock::failed) return give_up("cannot lock its partial file");
        if (lock == PartialLock::another ||
            (lock == PartialLock::none && stands && !left_alone(directory, file.get()))) {
            if (waited == kLockWait) return being_written(target.path);
            // A session that was cut lets go soon, and who comes back is fast.
            std::this_thread::sleep_for(kLockPause);
            waited += kLockPause;
            --i;
            continue;
        }
        struct stat ours {};
        if (::fstat(file.get(), &ours) != 0) return give_up("cannot look at");
        if (!still_named(directory, partial, file.get())) continue;
        if (!S_ISREG(ours.st_mode)) return no_partial(target.path, partial);
        // By its other names it is a snapshot's, or somebody's who wants another file to be
        // written.
        if (ours.st_nlink != 1) {
            if (::unlinkat(directory, partial.c_str(), 0) != 0 && errno != ENOENT)
                return file_error("cannot remove " + partial + " beside it", target.path, errno);
            continue;
        }
        // io_uring takes O_NONBLOCK as leave to answer EAGAIN.
        if (::fcntl(file.get(), F_SETFL, O_RDWR) != 0 || ::fchmod(file.get(), 0600) != 0)
            return give_up("cannot take over its partial file");
        target.kind = OpenFile::Kind::partial;
        target.plain = std::move(file);
        target.partial = partial;
        target.locked = lock == PartialLock::held;
        std::vector<std::byte> journal;
        if (stands && target.locked && !may_be_planted(directory, ours))
            journal = journal_kept(target, ours, keep);
        if (target.keep) return journal;
        if (keep || stands) remove_journal(target);
        if (!stands) return journal;
        // Made anew, not emptied: a writer that has no lock may have it open still.
        if (::unlinkat(directory, partial.c_str(), 0) != 0 && errno != ENOENT)
            return file_error("cannot remove " + partial + " beside it", target.path, errno);
    }
    return being_written(target.path);
}

// Without a transfer of zeros where the device can do that.
Result<void> zero(int fd, Range bytes, const std::string& path) {
    const std::uint64_t pages = bytes.last / ports::kDiskAlignment * ports::kDiskAlignment;
    if (bytes.first < pages &&
        ::fallocate(fd, FALLOC_FL_ZERO_RANGE, static_cast<off_t>(bytes.first),
                    static_cast<off_t>(pages - bytes.first)) == 0) {
        bytes.first = pages;
    }
    return write_zeros(fd, bytes, path);
}

// Zeros over what is none, by a look at it: holes stay where they are. False: it is too much.
Result<bool> clear(OpenFile& target, Range bytes) {
    if (bytes.length() > kMostCleared) return false;
    const int fd = target.plain.get();
    std::vector<std::byte> content(std::min(kLookedAtOnce, bytes.length()));
    for (std::uint64_t at = bytes.first; at < bytes.last;) {
        const auto some = ByteSpan(content).first(std::min(kLookedAtOnce, bytes.last - at));
        const FullRead read = read_full(fd, some, at);
        if (read.error_number != 0)
            return file_error("cannot read", target.path, read.error_number);
        if (read.length == 0) break;
        const ByteView got = some.first(read.length);
        const Range seen{at, at + read.length};
        if (std::any_of(got.begin(), got.end(),
                        [](std::byte byte) { return byte != std::byte{0}; })) {
            if (auto written = write_zeros(fd, seen, target.path); !written) return written.error();
        }
        at = seen.last;
    }
    return true;
}

// Somebody may have written there since, or a failing disk: no digest would tell. False: where the
// file system knows no holes, and they are large.
Result<bool> empty_holes(OpenFile& target, const std::vector<Range>& holes) {
    const int fd = target.plain.get();
    for (const Range& hole : holes) {
        for (std::uint64_t at = hole.first; at < hole.last;) {
            const Range found = next_data(fd, at, hole.last);
            const Range data{std::max(found.first, at), std::min(found.last, hole.last)};
            if (data.first >= data.last) break;
            if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            static_cast<off_t>(data.first),
                            static_cast<off_t>(data.length())) != 0) {
                auto cleared = clear(target, data);
                if (!cleared || !*cleared) return cleared;
            }
            at = data.last;
        }
    }
    return true;
}

// A device is written where it is. Data come in any order, which a pipe cannot take.
Result<CreatedTarget> open_in_place(std::shared_ptr<OpenFile> target, mode_t type,
                                    const std::vector<Range>& holes) {
    if (type != S_IFCHR && type != S_IFBLK) {
        return target_error(target->path, "cannot write: it is a pipe or a socket",
                            "name a file or a device");
    }
    target->kind = OpenFile::Kind::in_place;
    // To be read again, too, where that is allowed.
    for (const int access : {O_RDWR, O_WRONLY}) {
        if (target->plain) break;
        target->plain =
            Descriptor(::openat(target->place.directory.get(), target->place.leaf.c_str(),
                                access | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY));
    }
    if (!target->plain) return file_error("cannot open", target->path, errno);
    for (const Range& hole : holes) {
        if (const auto zeroed = zero(target->plain.get(), hole, target->path); !zeroed)
            return zeroed.error();
    }
    return CreatedTarget{std::move(target), {}};
}

// Whether the target's name is seen to lead elsewhere than to the directory that holds the partial
// file. One that cannot be looked at now is not.
bool leads_elsewhere(const OpenFile& target) {
    const auto place = target.root->place(target.path, false);
    if (!place) {
        const std::size_t slash = target.path.find_last_of('/', target.path.find_last_not_of('/'));
        return slash != target.path.npos && slash > 0 &&
               target.root->absent(target.path.substr(0, slash));
    }
    if (!differ(place->directory, target.place.directory)) return false;
    const auto behind = place_behind_links(*target.root, target.path, false);
    return behind && differ(behind->place.directory, target.place.directory);
}

}  // namespace

OpenFile::~OpenFile() {
    if (partial.empty() || (keep && !dropped)) return;
    // Where somebody removed it, what stands there is another's.
    if (!still_named(place.directory.get(), partial, plain.get())) return;
    remove_journal(*this);
    ::unlinkat(place.directory.get(), partial.c_str(), 0);
}

Result<void> free_partial(int directory, const std::string& partial, const std::string& path) {
    constexpr int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    const Descriptor file(::openat(directory, partial.c_str(), flags));
    if (!file && errno == ENOENT) return {};  // it went just now
    // A link is one that a writer who died did not name.
    if (!file && errno != ELOOP) return file_error("cannot take over " + partial, path, errno);
    const PartialLock lock = file ? lock_partial(file.get(), path) : PartialLock::held;
    if (lock == PartialLock::failed) return file_error("cannot lock " + partial, path, errno);
    if (lock == PartialLock::another ||
        (lock == PartialLock::none && !left_alone(directory, file.get()))) {
        return being_written(path);
    }
    if (file && !still_named(directory, partial, file.get())) return being_written(path);
    // First: it never stands without its partial file.
    ::unlinkat(directory, journal_name(partial).c_str(), 0);
    if (::unlinkat(directory, partial.c_str(), 0) != 0)
        return file_error("cannot remove " + partial, path, errno);
    return {};
}

Result<CreatedTarget> create_target(const Root& root, const ports::TargetName& name,
                                    std::uint64_t size, const std::vector<Range>& holes,
                                    const ports::Disk::Keep& keep) {
    const std::string path = name.text();
    if (root.read_only()) return target_error(path, "this account may only read");
    auto target = std::make_shared<OpenFile>();
    target->root = &root;
    target->path = path;
    target->size = size;
    target->set_id = gives_set_id(root);
    if (const auto virtual_one = virtual_file(root, path)) {
        if (virtual_one->kind == VirtualFile::Kind::zeros)
            return file_error("cannot write", path, EACCES);
        target->kind = OpenFile::Kind::null;
        return CreatedTarget{std::move(target), {}};
    }
    if (ports::is_partial_name(path.substr(path.rfind('/') + 1))) {
        return target_error(path,
                            "cannot write: such names are for what transfers that were cut left",
                            "give it another name");
    }
    const auto found =
        name.below.empty() ? find_named(root, *target) : find_below(root, name, *target);
    if (!found) return found.error();
    const mode_t type = *found;
    if (type == S_IFDIR || path.back() == '/') {
        return target_error(path, "cannot write: it is a directory",
                            name.below.empty() ? "name a file in it"
                                               : "remove it, or look at what keeps what it holds: "
                                                 "a pattern, --max-delete, a mount, what a cut "
                                                 "transfer left (.lambda-*)");
    }
    if (type != 0 && type != S_IFREG) return open_in_place(target, type, holes);

    auto journal = open_partial(*target, keep);
    if (!journal) return journal.error();
    if (target->keep) {
        const auto emptied = empty_holes(*target, holes);
        if (!emptied) return emptied.error();
        if (!*emptied) {  // all of it anew
            remove_journal(*target);
            target->keep = false;
            journal->clear();
            if (::ftruncate(target->plain.get(), 0) != 0)
                return file_error("cannot set the size", path, errno);
        }
        // It is compared as the disk has it. What is not flushed stays.
        ::posix_fadvise(target->plain.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
    // Before the time is spent that the digests of holes take. What has none is as large as what is
    // written.
    if (!target->keep && !holes.empty() &&
        ::ftruncate(target->plain.get(), static_cast<off_t>(size)) != 0)
        return file_error("cannot set the size", path, errno);
    target->storage = storage_of(target->plain);
    if (size >= kDirectTarget && target->storage != Storage::memory)
        target->direct = open_direct(target->place.directory.get(), target->partial, target->plain);
    return CreatedTarget{std::move(target), *std::move(journal)};
}

Result<void> flush(OpenFile& target) {
    const int fd = target.plain.get();
    struct stat status {};
    const bool known = target.kind != OpenFile::Kind::null && ::fstat(fd, &status) == 0;
    const bool keeps = known && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
    if (!keeps || (::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) {
        return target_error(target.path, "what is written there cannot be read back",
                            "leave --verify readback out");
    }
    if (::fdatasync(fd) != 0) return file_error("cannot flush", target.path, errno);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return {};
}

Result<bool> commit(OpenFile& target, const ports::FileMetadata& metadata) {
    if (target.kind == OpenFile::Kind::null) return true;
    const int fd = target.plain.get();
    if (target.kind == OpenFile::Kind::in_place) {
        // A character device has nothing to flush and says EINVAL.
        if (::fsync(fd) != 0 && errno != EINVAL)
            return file_error("cannot flush", target.path, errno);
        return true;
    }
    target.keep = false;
    struct stat status {};
    if (::fstat(fd, &status) != 0) return file_error("cannot look at", target.path, errno);
    // Direct writes are padded to whole pages; a hole at the end was never written.
    if (static_cast<std::uint64_t>(status.st_size) != metadata.size &&
        ::ftruncate(fd, static_cast<off_t>(metadata.size)) != 0) {
        return file_error("cannot set the size", target.path, errno);
    }
    const auto applied = apply({.descriptor = fd}, metadata, target.set_id, target.path);
    if (!applied) return applied;
    if (::fsync(fd) != 0) return file_error("cannot flush", target.path, errno);
    const int directory = target.place.directory.get();
    if (!still_named(directory, target.partial, fd)) {
        return target_error(target.path,
                            "cannot give the file its name: somebody removed its partial file",
                            "leave .lambda-* alone while a transfer runs");
    }
    if (target.root->moved()) return root_moved(target.path);
    if (leads_elsewhere(target)) {
        return target_error(target.path,
                            "cannot give the file its name: its directory was moved, or another "
                            "took its place, while it was written",
                            "run it again");
    }
    // Before the name: a journal never stands without its partial file.
    if (target.journal) remove_journal(target);
    if (::renameat(directory, target.partial.c_str(), directory, target.place.leaf.c_str()) != 0) {
        return file_error("cannot give the file its name", target.path, errno);
    }
    target.partial.clear();
    if (sync_directory(directory, fd) != 0) return file_error(kNamedNotFlushed, target.path, errno);
    return applied;
}

}  // namespace lambda::io
