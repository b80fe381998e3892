#include "common/io/tree/extraneous.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "common/base/name_parts.h"
#include "common/io/file/file_error.h"
#include "common/io/file/flush.h"
#include "common/io/file/shared_barrier.h"
#include "common/io/file/temporary_file.h"
#include "common/io/file/write_all.h"
#include "common/io/tree/directory_names.h"
#include "common/ports/walker.h"

namespace lambda::io {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kPortion = 64 * 1024;  // of the spool
constexpr unsigned kDeepest = 512;           // levels below one that is extraneous
constexpr mode_t kOurs = 0700;

// What is gathered has a name that the sender could say, so that a line of the spool has an end.
constexpr std::size_t kLongestLine = 1 + 2 * (sizeof(std::uint32_t) + ports::kLongestName + 256);

Error too_deep(const std::string& name) {
    return Error{.fault = Fault::file,
                 .message =
                     "cannot delete: what it holds has names of more than 4096 bytes, or lies "
                     "more than 512 levels deep",
                 .path = name,
                 .side = Side::local,
                 .remedy = "remove it by hand"};
}

// Where there is no room for temporary files, in memory.
Descriptor spool() {
    if (Descriptor file = temporary_file()) return file;
    return Descriptor(static_cast<int>(::syscall(SYS_memfd_create, "lambda-ftp", 1u)));
}

void append(std::string& out, const std::string& text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    out.append(reinterpret_cast<const char*>(&size), sizeof size);
    out += text;
}

}  // namespace

ExtraneousList::~ExtraneousList() = default;

void ExtraneousList::Parent::restore() {
    if (!opened) return;
    if (opened_up) ::fchmod(opened.get(), status.st_mode & 07777);
    const timespec times[2] = {{0, UTIME_NOW}, status.st_mtim};  // NOW: as in attributes.cpp
    ::futimens(opened.get(), times);
}

Result<bool> ExtraneousList::gather(int directory, const std::string& leaf,
                                    const std::string& below, const std::string& name,
                                    const ports::TargetTree::Kept& kept, const Stays& stays) {
    return gather_one(directory, leaf, {.below = below, .name = name}, {kept, stays}, 0);
}

Result<bool> ExtraneousList::gather_one(int directory, const std::string& leaf, const Line& line,
                                        const Gathering& how, unsigned depth) {
    ++looked_;
    if (stopping_) return file_error("cannot look at", line.name, ECANCELED);
    struct stat status {};
    if (::fstatat(directory, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return true;
        how.stays(file_error("cannot look at", line.name, errno));
        return false;
    }
    const bool is_directory = S_ISDIR(status.st_mode);
    if (how.kept && how.kept(line.name, is_directory)) return false;
    if (is_directory) {
        const Descriptor opened(::openat(directory, leaf.c_str(), kOpenDirectory));
        if (!opened) {
            how.stays(file_error("cannot delete: cannot open the directory", line.name, errno));
            return false;
        }
        const auto all = gather_below(opened.get(), line, how, depth);
        if (!all || !*all) return all;
    }
    if (const auto told = put({is_directory, line.below, line.name}); !told) return told.error();
    return true;
}

Result<bool> ExtraneousList::gather_below(int directory, const Line& line, const Gathering& how,
                                          unsigned depth) {
    if (depth == kDeepest) {
        how.stays(too_deep(line.name));
        return false;
    }
    bool all = true;
    DirectoryNames names(directory, line.name);
    while (true) {
        const auto portion = names.next();
        if (!portion) how.stays(portion.error());
        if (!portion || portion->empty()) return portion && all;
        for (const std::string& leaf : *portion) {
            if (ports::is_partial_name(leaf)) {
                all = false;
                continue;
            }
            const Line each{.below = joined(line.below, leaf), .name = joined(line.name, leaf)};
            if (each.name.size() > ports::kLongestName || each.below.size() > ports::kLongestName) {
                how.stays(too_deep(each.name));
                all = false;
                continue;
            }
            const auto goes = gather_one(directory, leaf, each, how, depth + 1);
            if (!goes) return goes;
            all = all && *goes;
        }
    }
}

Result<void> ExtraneousList::put(const Line& line) {
    if (!spool_) spool_ = spool();
    if (!spool_) return file_error("cannot make a temporary file", "TMPDIR", errno);
    waiting_ += line.directory ? 'd' : 'f';
    append(waiting_, line.below);
    append(waiting_, line.name);
    ++count_;
    return waiting_.size() < kPortion ? Result<void>() : write_out();
}

Result<void> ExtraneousList::write_out() {
    const auto written = write_all(spool_.get(), std::as_bytes(std::span(waiting_)), "TMPDIR",
                                   spooled_, "cannot write a temporary file");
    if (!written) return written;
    spooled_ += waiting_.size();
    waiting_.clear();
    return {};
}

// Read from the spool's beginning, which what is written to it does not move.
Result<std::optional<ExtraneousList::Line>> ExtraneousList::take() {
    if (!reading_ && spool_) {
        if (const auto written = write_out(); !written) return written.error();
    }
    reading_ = true;
    // As much as one line may have, or all there is.
    while (spool_ && waiting_.size() - taken_ < kLongestLine) {
        waiting_.erase(0, taken_);
        taken_ = 0;
        const std::size_t had = waiting_.size();
        waiting_.resize(had + kPortion);
        const ssize_t got = ::read(spool_.get(), &waiting_[had], kPortion);
        waiting_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error("cannot read a temporary file", "TMPDIR", errno);
        if (got == 0) break;
    }
    if (taken_ == waiting_.size()) return std::optional<Line>();
    const auto text = [this] {
        std::uint32_t size = 0;
        std::memcpy(&size, &waiting_[taken_], sizeof size);
        std::string read = waiting_.substr(taken_ + sizeof size, size);
        taken_ += sizeof size + size;
        return read;
    };
    Line line;
    line.directory = waiting_[taken_++] == 'd';
    line.below = text();
    line.name = text();
    return std::optional(std::move(line));
}

Result<std::vector<ports::Extraneous>> ExtraneousList::next(int base, bool remove,
                                                            std::size_t most) {
    std::vector<ports::Extraneous> list;
    while (list.size() < most && !unread_ && !stopping_) {
        auto line = take();
        if (!line) unread_ = line.error();
        if (!line || !*line) break;
        ++looked_;
        std::optional<Error> error;
        if (remove) error = this->remove(base, **line);
        list.push_back({std::move((*line)->name), (*line)->directory, std::move(error)});
    }
    if (!list.empty()) return list;
    leave_parent(base);
    // The names that went are durable once their file system's metadata is.
    if (removed_ && ::syncfs(base) != 0) return file_error("cannot flush", ".", errno);
    if (unflushed_) return *unflushed_;
    if (unread_) return *unread_;
    return list;
}

Result<ExtraneousList::Parent*> ExtraneousList::parent_of(int base, const Line& line) {
    const std::string below(holder_of(line.below));
    if (parent_ && parent_->below == below) return parent_.get();
    leave_parent(base);
    auto parent = std::make_unique<Parent>();
    parent->below = below;
    parent->opened =
        Descriptor(open_unfollowed(base, below.empty() ? "." : below, O_RDONLY | O_DIRECTORY));
    if (!parent->opened || ::fstat(parent->opened.get(), &parent->status) != 0)
        return file_error("cannot delete: cannot reach its directory", line.name, errno);
    parent_ = std::move(parent);
    return parent_.get();
}

// What went of it is flushed now, or with all that lies on the base's file system.
void ExtraneousList::leave_parent(int base) {
    if (parent_ && parent_->removed) {
        parent_->restore();
        if (has_barrier(base, *parent_)) {
            removed_ = true;
        } else if (flush_opened(parent_->opened.get()) != 0 && !unflushed_) {
            unflushed_ = file_error("cannot flush what was deleted from it", parent_->below, errno);
        }
    }
    parent_.reset();
}

bool ExtraneousList::has_barrier(int base, const Parent& parent) {
    if (!base_device_) {
        struct stat status {};
        struct statfs where {};
        if (::fstat(base, &status) != 0 || ::fstatfs(base, &where) != 0) return false;
        base_device_ = status.st_dev;
        base_has_barrier_ = syncfs_is_barrier(where.f_type);
    }
    return base_has_barrier_ && parent.status.st_dev == *base_device_;
}

std::optional<Error> ExtraneousList::remove(int base, const Line& line) {
    const auto parent = parent_of(base, line);
    if (!parent) return parent.error();
    const std::string leaf = line.below.substr(line.below.rfind('/') + 1);
    const int directory = (*parent)->opened.get();
    const auto unlink = [&] {
        return ::unlinkat(directory, leaf.c_str(), line.directory ? AT_REMOVEDIR : 0);
    };
    int result = unlink();
    if (result != 0 && errno == EACCES && !(*parent)->opened_up &&
        ::fchmod(directory, ((*parent)->status.st_mode & 07777) | kOurs) == 0) {
        (*parent)->opened_up = true;
        result = unlink();
    }
    if (result != 0 && errno != ENOENT) return file_error("cannot delete", line.name, errno);
    (*parent)->removed = true;
    return std::nullopt;
}

}  // namespace lambda::io
