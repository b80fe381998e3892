#include "common/io/stage/stage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "common/io/file/attributes.h"
#include "common/io/file/file_error.h"
#include "common/io/file/flush.h"
#include "common/io/file/identity.h"
#include "common/io/file/open_file.h"
#include "common/io/file/read_back.h"
#include "common/io/file/storage.h"
#include "common/io/file/write_all.h"
#include "common/io/stage/stage_files.h"

namespace lambda::io {
namespace {

constexpr Range kAll{0, kToTheEnd};

Error other_source(const std::string& path) {
    return stage_error(path, "the ranges that stand there are of another source, or it has changed",
                       "begin again on another stage, and discard this one");
}

Error source_changed(const std::string& path) {
    return stage_error(path, "its source is not the one that the range is of",
                       "look at the source again, and begin on another stage");
}

std::string bytes_text(Range bytes) {
    return "bytes " + std::to_string(bytes.first) + " to " + std::to_string(bytes.last - 1);
}

Result<std::string> key_of(const StagePlace& at) {
    struct stat status {};
    if (::fstat(at.place.directory.get(), &status) != 0)
        return file_error("cannot look at its directory", at.path, errno);
    return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" + at.parts;
}

Result<std::uint64_t> size_of(int fd, const std::string& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return file_error("cannot look at", path, errno);
    return static_cast<std::uint64_t>(status.st_size);
}

// What an earlier claim wrote goes, so that what is hole in the source is hole again.
Result<void> empty_range(int fd, Range bytes, const std::string& path) {
    if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(bytes.first),
                    static_cast<off_t>(bytes.length())) == 0) {
        return {};
    }
    if (errno == EOPNOTSUPP) return write_zeros(fd, bytes, path);
    return file_error("cannot empty the range", path, errno);
}

Error stands_there(const std::string& path) {
    return stage_error(path, "it stands there already, as long and as old as its source");
}

Error not_done(const std::string& path, const std::string& what) {
    return stage_error(path, "cannot be finished: " + what, "carry them first");
}

}  // namespace

// One claim that is being made: everything under the log's lock, in this order.
struct Claiming {
    StagePlace at;
    const Stage& stage;
    const Range bytes;
    const std::uint64_t fence;  // 0: above all before

    // What refuses it for good, while nothing changes.
    Result<void> look() const {
        if (stands_finished(at, stage.source)) return stands_there(at.path);
        const auto log = StageLog::open(at, false);
        if (!log) return log.error();
        const auto file = open_staged(at, at.parts, false);
        if (!file) return file.error();
        if (!*log || (*log)->fresh() || !*file) return {};
        const auto size = size_of((*file)->get(), at.path);
        if (!size) return size.error();
        if (*size == 0) return {};
        const RangeLog& said = (*log)->said();
        return said.source()->same_as(stage.source) ? may_claim(said) : other_source(at.path);
    }

    // Nothing: another holds the range.
    Result<std::shared_ptr<RangeClaim>> attempt() {
        auto log = StageLog::open(at, true);
        if (!log) return log.error();
        if (stands_finished(at, stage.source)) {
            if ((*log)->fresh()) ::unlinkat(at.place.directory.get(), at.log.c_str(), 0);
            return stands_there(at.path);
        }
        auto file = open_staged(at, at.parts, true);
        if (!file) return file.error();
        const int fd = (*file)->get();
        if (const auto begun = begin(**log, fd); !begun) return begun.error();
        const RangeLog& said = (*log)->said();
        if (const auto may = may_claim(said); !may) return may.error();
        const auto locked = take_lock(fd, bytes, at.path);
        if (!locked) return locked.error();
        if (!*locked) return std::shared_ptr<RangeClaim>();
        const bool touched = said.newest_fence(bytes) > 0;
        const std::uint64_t number = number_after(said);
        const bool first = !said.source().has_value();
        const auto written =
            (*log)->append((first ? RangeLog::source_line(stage.source) : std::string()) +
                           RangeLog::claim_line({.bytes = bytes, .fence = number}));
        if (!written) return written.error();
        if (first && (::fsync(fd) != 0 || sync_directory(at.place.directory.get(), fd) != 0))
            return file_error("cannot flush its staging file", at.path, errno);
        // Once the log no longer calls any of it done. From here on the range's own lock will do.
        log->reset();
        if (touched) {
            if (const auto emptied = empty_range(fd, bytes, at.path); !emptied)
                return emptied.error();
        }
        return hold(**std::move(file), number);
    }

  private:
    // A staging file without a log, or a log without one, is what a crash left of the beginning, or
    // somebody's doing: both begin anew.
    Result<void> begin(StageLog& log, int fd) const {
        const auto size = size_of(fd, at.path);
        if (!size) return size.error();
        if (*size > 0 && !log.fresh()) {
            if (!log.said().source()->same_as(stage.source)) return other_source(at.path);
            if (*size == stage.source.size) return {};
            return stage_error(at.path, "its staging file has another size than it should have",
                               "discard the stage and begin again");
        }
        const auto locked = take_lock(fd, kAll, at.path);
        if (!locked) return locked.error();
        if (!*locked) return range_busy(at.path);
        if (const auto cleared = log.clear(); !cleared) return cleared;
        const bool sized =
            ::ftruncate(fd, 0) == 0 && ::ftruncate(fd, static_cast<off_t>(stage.source.size)) == 0;
        const int error_number = errno;
        if (!sized) {  // both are empty, and nobody's
            for (const std::string& name : {at.parts, at.log})
                ::unlinkat(at.place.directory.get(), name.c_str(), 0);
        }
        unlock(fd, kAll);
        if (!sized) return file_error("cannot make its staging file", at.path, error_number);
        return {};
    }

    // 0: there is none above.
    std::uint64_t number_after(const RangeLog& said) const {
        return fence > 0 ? fence : said.newest_fence(bytes) + 1;
    }

    Result<void> may_claim(const RangeLog& said) const {
        if (said.done().contains(bytes))
            return stage_error(at.path, bytes_text(bytes) + " are done already");
        if (said.newest_fence(bytes) >= number_after(said)) {
            return stage_error(at.path, "the range was claimed by another since, or by this claim",
                               "take a new lease of it");
        }
        return {};
    }

    Result<std::shared_ptr<RangeClaim>> hold(Descriptor file, std::uint64_t number) {
        auto key = key_of(at);
        if (!key) return key.error();
        auto claim = std::make_shared<RangeClaim>();
        claim->at_ = std::move(at);
        claim->key_ = *std::move(key);
        claim->stage_ = stage;
        claim->bytes_ = bytes;
        claim->fence_ = number;
        claim->file_ = std::move(file);
        return claim;
    }
};

namespace {

Result<Claiming> claiming_of(const Root& root, const std::string& target, const Stage& stage,
                             Range bytes, std::uint64_t fence) {
    if (!fits_stage(bytes, stage.source.size))
        return stage_error(target, "these bytes are no range of the file that can be carried",
                           "begin and end it at multiples of 1 MiB within the file, or at its end");
    auto at = stage_place(root, target, stage, true);
    if (!at) return at.error();
    if (const auto replaceable = may_replace(*at); !replaceable) return replaceable.error();
    return Claiming{*std::move(at), stage, bytes, fence};
}

}  // namespace

Result<std::shared_ptr<RangeClaim>> claim_range(const Root& root, const std::string& target,
                                                const Stage& stage, Range bytes,
                                                std::uint64_t fence) {
    auto claiming = claiming_of(root, target, stage, bytes, fence);
    if (!claiming) return claiming.error();
    for (auto waited = kStagePause; waited <= kStageWait; waited += kStagePause) {
        auto claim = claiming->attempt();
        if (!claim || *claim) return claim;
        std::this_thread::sleep_for(kStagePause);
    }
    return range_busy(target);
}

Result<std::string> claim_key(const Root& root, const std::string& target, const Stage& stage,
                              Range bytes, std::uint64_t fence) {
    const auto claiming = claiming_of(root, target, stage, bytes, fence);
    if (!claiming) return claiming.error();
    if (auto looked = claiming->look(); !looked) return looked.error();
    return key_of(claiming->at);
}

Result<std::shared_ptr<OpenFile>> RangeClaim::open(std::uint64_t size) const {
    if (size != bytes_.length()) return source_changed(at_.path);
    auto target = std::make_shared<OpenFile>();
    target->kind = OpenFile::Kind::range;
    target->path = at_.path;
    target->bytes = bytes_;
    // Behind the last byte lies another's: no write is ever padded.
    target->size = kToTheEnd;
    // The lock is that of the open file, whatever number it has.
    target->plain = Descriptor(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
    if (!target->plain) return file_error("cannot open its staging file", at_.path, errno);
    target->storage = storage_of(target->plain);
    if (bytes_.length() >= kDirectTarget && target->storage != Storage::memory)
        target->direct = open_direct(at_.place.directory.get(), at_.parts, target->plain);
    return target;
}

Result<bool> RangeClaim::commit(const ports::FileMetadata& metadata) const {
    if (metadata.size != bytes_.length() || metadata.mtime_ns != stage_.source.mtime_ns)
        return source_changed(at_.path);
    if (::fdatasync(file_.get()) != 0) return file_error("cannot flush", at_.path, errno);
    auto log = StageLog::open(at_, false);
    if (!log) return log.error();
    const bool ours = *log && (*log)->said().newest_fence(bytes_) == fence_ &&
                      still_named(at_.place.directory.get(), at_.parts, file_.get());
    if (!ours)
        return stage_error(at_.path,
                           "the range was claimed by another since, or its stage discarded");
    bool owned = true;
    if (metadata.archived) {
        // The mode waits for the whole: nobody else opens it before.
        ports::FileMetadata kept = metadata;
        kept.mode = 0600;
        const auto applied = apply({.descriptor = file_.get()}, kept, at_.set_id, at_.path);
        if (!applied) return applied;
        owned = *applied;
    }
    const std::uint32_t mode =
        ports::given_mode(metadata.mode, metadata.archived && owned, false, at_.set_id);
    const auto written =
        (*log)->append(RangeLog::done_line({.bytes = bytes_, .fence = fence_}, mode));
    if (!written) return written.error();
    return owned && (!metadata.archived || mode == (metadata.mode & 07777));
}

Result<bool> RangeClaim::make(const ports::Making& making, ByteView content) const {
    if (making.kind != ports::Making::Kind::file || making.metadata.size != bytes_.length())
        return source_changed(at_.path);
    const Written written{.file = file_.get(),
                          .content = content,
                          .digest = making.expected.value_or(ports::ContentDigest{}),
                          .path = at_.path,
                          .at = bytes_.first};
    if (const auto wrote = write_all(written.file, content, at_.path, bytes_.first); !wrote)
        return wrote.error();
    if (making.expected && !content.empty()) {
        if (::fdatasync(written.file) != 0) return file_error("cannot flush", at_.path, errno);
        if (const auto read = read_back(written); !read) return read.error();
    }
    return commit(making.metadata);
}

Result<IntervalSet> staged_ranges(const Root& root, const std::string& target, const Stage& stage) {
    IntervalSet done;
    const auto at = stage_place(root, target, stage, false);
    if (!at && at.error().error_number == ENOENT) return done;
    if (!at) return at.error();
    if (stands_finished(*at, stage.source)) {
        done.insert({0, stage.source.size});
        return done;
    }
    const auto file = open_staged(*at, at->parts, false);
    if (!file) return file.error();
    if (!*file) return done;
    const auto log = StageLog::open(*at, false);
    if (!log) return log.error();
    if (!*log || (*log)->fresh()) return done;
    if (!(*log)->said().source()->same_as(stage.source)) return other_source(target);
    const auto size = size_of((*file)->get(), target);
    if (!size) return size.error();
    return *size == stage.source.size ? (*log)->said().done() : done;
}

Result<void> finish_stage(const Root& root, const std::string& target, const Stage& stage) {
    const auto at = stage_place(root, target, stage, false);
    if (!at) return at.error();
    if (stands_finished(*at, stage.source)) {
        // A crash right behind the rename left the log, or others brought the file another way.
        const auto discarded = discard_stage(root, target, stage);
        if (!discarded && discarded.error().fault != Fault::cut) return discarded;
        const auto itself = root.open(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (sync_directory(at->place.directory.get(), itself ? itself->get() : -1) != 0)
            return file_error(kNamedNotFlushed, target, errno);
        return {};
    }
    auto log = StageLog::open(*at, false);
    if (!log) return log.error();
    const auto file = open_staged(*at, at->parts, false);
    if (!file) return file.error();
    if (!*file || !*log || (*log)->fresh()) {
        // Somebody else may have finished it while the log was waited for.
        if (stands_finished(*at, stage.source)) return {};
        return not_done(target, "no range is done");
    }
    const int directory = at->place.directory.get();
    const int fd = (*file)->get();
    const RangeLog& said = (*log)->said();
    if (!said.source()->same_as(stage.source)) return other_source(target);
    if (const auto hole = said.done().first_gap({0, stage.source.size}))
        return not_done(target, bytes_text(*hole) + " are not done");
    const auto size = size_of(fd, target);
    if (!size) return size.error();
    if (*size != stage.source.size)
        return not_done(target, "its staging file is not as long as its source");
    const auto locked = take_lock(fd, kAll, target);
    if (!locked) return locked.error();
    if (!*locked) return range_busy(target);
    if (const auto replaceable = may_replace(*at); !replaceable) return replaceable;
    const auto applied = apply(
        {.descriptor = fd}, {.size = *size, .mtime_ns = stage.source.mtime_ns, .mode = said.mode()},
        at->set_id, target);
    if (!applied) return applied.error();
    // Set-user-id was written down only where the owner was set, too; but the log is a file.
    if (::fchmod(fd, ports::given_mode(said.mode(), true, false, at->set_id)) != 0)
        return file_error("cannot set the mode", target, errno);
    if (::fsync(fd) != 0) return file_error("cannot flush", target, errno);
    if (root.moved()) return root_moved(target);
    if (::renameat(directory, at->parts.c_str(), directory, at->place.leaf.c_str()) != 0)
        return file_error("cannot give the file its name", target, errno);
    if (sync_directory(directory, fd) != 0) return file_error(kNamedNotFlushed, target, errno);
    ::unlinkat(directory, at->log.c_str(), 0);  // not before: it says what is done
    return {};
}

Result<void> discard_stage(const Root& root, const std::string& target, const Stage& stage) {
    const auto at = stage_place(root, target, stage, false);
    if (!at && at.error().error_number == ENOENT) return {};
    if (!at) return at.error();
    const auto log = StageLog::open(*at, false);
    if (!log) return log.error();
    const auto file = open_staged(*at, at->parts, false);
    if (!file) return file.error();
    if (*file) {
        const auto locked = take_lock((*file)->get(), kAll, target);
        if (!locked) return locked.error();
        if (!*locked) return range_busy(target);
    }
    const int directory = at->place.directory.get();
    for (const std::string& name : {at->parts, at->log}) {
        if (::unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT)
            return file_error("cannot remove " + name + " beside it", target, errno);
    }
    return {};
}

}  // namespace lambda::io
