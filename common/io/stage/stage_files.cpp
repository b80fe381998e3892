#include "common/io/stage/stage_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <thread>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/identity.h"
#include "common/io/file/partial_name.h"
#include "common/io/file/read_full.h"
#include "common/ports/disk.h"

namespace lambda::io {
namespace {

int set_lock(int fd, short type, Range bytes) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(bytes.first);
    lock.l_len = bytes.last == kToTheEnd ? 0 : static_cast<off_t>(bytes.length());
    return ::fcntl(fd, F_OFD_SETLK, &lock);
}

}  // namespace

Error stage_error(const std::string& path, std::string message, std::string remedy) {
    return Error{.fault = Fault::file,
                 .message = std::move(message),
                 .path = path,
                 .side = Side::local,
                 .remedy = std::move(remedy)};
}

Error range_busy(const std::string& path) {
    return Error{.fault = Fault::cut,
                 .message = "another session is writing this range",
                 .path = path,
                 .side = Side::local,
                 .remedy = "wait for its end, or stop it"};
}

Result<StagePlace> stage_place(const Root& root, const std::string& target, const Stage& stage,
                               bool make) {
    if (root.read_only()) return stage_error(target, "this account may only read");
    if (!is_stage_name(stage.name))
        return stage_error(target, "'" + stage.name + "' is no name of a stage",
                           "it has up to 64 letters, digits, '.', '_' and '-'");
    if (target.empty() || target.back() == '/')
        return stage_error(target, "cannot write: it is a directory", "name a file in it");
    auto place = root.place(target, make);
    if (!place) return place.error();
    if (ports::is_partial_name(place->leaf))
        return stage_error(target, "cannot write: such names are for what transfers keep",
                           "give it another name");
    const std::string part = partial_name(stage.name + '\0' + place->leaf);
    const std::string base = part.substr(0, part.rfind('.'));
    return StagePlace{.place = std::move(*place),
                      .parts = base + ".parts",
                      .log = base + ".ranges",
                      .path = target,
                      .set_id = gives_set_id(root)};
}

bool stands_finished(const StagePlace& at, const FileVersion& source) {
    struct stat status {};
    return ::fstatat(at.place.directory.get(), at.place.leaf.c_str(), &status,
                     AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) == source.size &&
           nanoseconds_of(status.st_mtim) == source.mtime_ns;
}

Result<void> may_replace(const StagePlace& at) {
    struct stat status {};
    if (::fstatat(at.place.directory.get(), at.place.leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) !=
        0) {
        if (errno == ENOENT) return {};
        return file_error("cannot look at", at.path, errno);
    }
    if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) return {};
    return stage_error(at.path,
                       S_ISDIR(status.st_mode) ? "cannot write: it is a directory"
                                               : "cannot write ranges: it is no regular file",
                       "remove it, or name another");
}

Result<std::optional<Descriptor>> open_staged(const StagePlace& at, const std::string& name,
                                              bool make) {
    constexpr int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    Descriptor file(
        ::openat(at.place.directory.get(), name.c_str(), flags | (make ? O_CREAT : 0), 0600));
    if (!file) {
        if (errno == ENOENT && !make) return std::optional<Descriptor>();
        return file_error("cannot open " + name + " beside it", at.path, errno);
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error("cannot look at", at.path, errno);
    // Put there by somebody who wants another file to be written.
    if (!S_ISREG(status.st_mode) || status.st_nlink > 1)
        return stage_error(at.path, name + " beside it is no file of a stage", "remove it");
    // io_uring takes O_NONBLOCK as leave to answer EAGAIN.
    if (::fcntl(file.get(), F_SETFL, O_RDWR) != 0)
        return file_error("cannot open " + name + " beside it", at.path, errno);
    return std::optional(std::move(file));
}

Result<bool> take_lock(int fd, Range bytes, const std::string& path) {
    if (set_lock(fd, F_WRLCK, bytes) == 0) return true;
    if (errno == EAGAIN || errno == EACCES) return false;
    return file_error("cannot lock its staging file", path, errno);
}

void unlock(int fd, Range bytes) {
    set_lock(fd, F_UNLCK, bytes);
}

Result<std::optional<StageLog>> StageLog::open(const StagePlace& at, bool make) {
    for (auto waited = kStagePause; waited <= kLogWait; waited += kStagePause) {
        auto file = open_staged(at, at.log, make);
        if (!file) return file.error();
        if (!*file) return std::optional<StageLog>();
        const int fd = (*file)->get();
        const auto locked = take_lock(fd, {0, kToTheEnd}, at.path);
        if (!locked) return locked.error();
        // Who finishes or discards takes the name away under the lock.
        if (*locked && still_named(at.place.directory.get(), at.log, fd)) {
            StageLog log(at, **std::move(file));
            if (const auto read = log.read(); !read) return read.error();
            return std::optional(std::move(log));
        }
        std::this_thread::sleep_for(kStagePause);
    }
    return range_busy(at.path);
}

Result<void> StageLog::read() {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return file_error("cannot look at", path_, errno);
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ > RangeLog::kMaxBytes)
        return stage_error(path_, "the log of its ranges is full", "cut it into larger ranges");
    std::string text(static_cast<std::size_t>(size_), '\0');
    const FullRead read = read_full(file_.get(), std::as_writable_bytes(std::span(text)), 0);
    if (read.length < text.size())
        return file_error("cannot read the log of its ranges", path_,
                          read.error_number != 0 ? read.error_number : EIO);
    torn_ = !text.empty() && text.back() != '\n';
    said_ = RangeLog::parse(text);
    return {};
}

Result<void> StageLog::append(const std::string& lines) {
    const std::string text = (torn_ ? "\n" : "") + lines;
    if (size_ + text.size() > RangeLog::kMaxBytes)
        return stage_error(path_, "the log of its ranges is full", "cut it into larger ranges");
    torn_ = true;
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t wrote = ::pwrite(file_.get(), text.data() + done, text.size() - done,
                                       static_cast<off_t>(size_));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0)
            return file_error("cannot write the log of its ranges", path_, wrote < 0 ? errno : EIO);
        done += static_cast<std::size_t>(wrote);
        size_ += static_cast<std::uint64_t>(wrote);
    }
    torn_ = false;
    if (::fdatasync(file_.get()) != 0)
        return file_error("cannot flush the log of its ranges", path_, errno);
    return {};
}

Result<void> StageLog::clear() {
    if (::ftruncate(file_.get(), 0) != 0)
        return file_error("cannot empty the log of its ranges", path_, errno);
    size_ = 0;
    torn_ = false;
    said_ = {};
    return {};
}

}  // namespace lambda::io
