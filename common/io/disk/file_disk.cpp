#include "common/io/disk/file_disk.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "common/io/disk/disk.h"
#include "common/io/file/file_error.h"
#include "common/io/file/storage.h"
#include "common/io/log.h"

namespace lambda::io {
namespace {

using ports::DiskEvent;
using ports::DiskFile;
using ports::DiskTag;

// As many as a receiver may have in hand (transfer::Sink::kMaxInHand): those wait here for a worker
// that opens them, or makes a range of them, however slow the disk is.
constexpr std::size_t kMostFiles = 16384;
// fsync and rename wait for the disk: a few at a time share its barriers.
constexpr unsigned kNameThreads = 4;
// For each file at most one operation by the port's rules, and the closing of one before it.
constexpr std::size_t kMostNameJobs = 4 * kMostFiles;
constexpr std::size_t kOpensInJob = 16;
// What a receiver has in hand is bounded by it, below this.
constexpr std::size_t kMostMakings = 65536;

}  // namespace

Result<FileDisk::Parts> FileDisk::prepare(const DiskOptions& options, Root root, Reactor& reactor) {
    auto slots = Slots::reserve(options.memory_bytes, options.block_bytes);
    if (!slots) return slots.error();
    auto workers = Workers::make(kNameThreads, kMostNameJobs, [&reactor] { reactor.lose_work(); });
    if (!workers) return workers.error();
    return Parts{*std::move(slots), std::move(root), *std::move(workers)};
}

FileDisk::FileDisk(const DiskOptions& options, Parts parts, Reactor& reactor)
    : slots_(std::move(parts.slots)),
      root_(std::move(parts.root)),
      reactor_(reactor),
      range_(options.range),
      claim_(options.claim),
      requests_(options.queue_depth),
      may_write_(options.copies_writes),
      overloaded_(options.overloaded),
      name_workers_(std::move(parts.name_workers)) {
    for (std::uint32_t i = options.queue_depth; i > 0; --i) free_requests_.push_back(i - 1);
}

void FileDisk::stop() {
    stopping_ = true;
    while (const auto copy = reader_ != nullptr ? reader_->take_back() : std::nullopt)
        complete(copy->index, std::nullopt);
    reader_.reset();
    take_posted();
}

void FileDisk::open_source(DiskTag tag, const ports::SourceFile& file, std::uint64_t grain) {
    if (!may_open(tag, file.path)) return;
    open_sources_.put([this, tag, file, grain](OpenQueue::Held held) {
        openings_.push_back({tag, file, grain, std::move(held)});
        if (openings_.size() == kOpensInJob) open_queued();
    });
}

// Handing a job to a thread costs more than opening a small file: several go together.
void FileDisk::open_queued() {
    if (openings_.empty()) return;
    name_workers_->post([this, openings = std::exchange(openings_, {})]() mutable {
        std::vector<NameDone> opened;
        for (Opening& wanted : openings) opened.push_back(open_one(std::move(wanted)));
        bool wake = false;
        for (NameDone& each : opened) wake = names_done_.put(std::move(each)) || wake;
        if (wake) reactor_.wake();
    });
}

// What is read whole holds nothing open any more when it is told.
FileDisk::NameDone FileDisk::open_one(Opening wanted) const {
    NameDone result;
    result.opening = true;
    result.event.tag = wanted.tag;
    auto opened = io::open_source(sources_, wanted.file, wanted.grain, range_);
    if (opened) {
        result.opened = std::move(opened->file);
        if (result.opened) result.opened->held = std::move(wanted.held);
        result.event.size = opened->metadata.size;
        result.event.mtime_ns = opened->metadata.mtime_ns;
        result.event.mode = opened->metadata.mode;
        result.event.id = opened->id;
        result.event.ctime_ns = opened->ctime_ns;
        result.event.archived = std::move(opened->metadata.archived);
        result.event.data = std::move(opened->data);
        result.event.content = std::move(opened->content);
    } else {
        result.event.error = opened.error();
    }
    return result;
}

void FileDisk::find_partials(DiskTag tag, const std::string& path, bool below) {
    name_workers_->post([this, tag, path, below] {
        NameDone result;
        result.event.tag = tag;
        // A range begins anew.
        result.event.found = claim_ == nullptr && io::find_partials(root_, path, below);
        done(std::move(result));
    });
}

void FileDisk::create_target(DiskTag tag, const ports::TargetName& name, std::uint64_t size,
                             std::vector<Range> holes, Keep keep) {
    if (!may_open(tag, name.text())) return;
    if (claim_ != nullptr) {
        name_workers_->post([this, tag, size, claim = take_claim(name.text())] {
            auto opened = claim ? (*claim)->open(size) : claim.error();
            if (!opened) return created(tag, opened.error());
            created(tag, CreatedTarget{*std::move(opened), {}});
        });
        return;
    }
    OpenQueue& queue = keep ? kept_targets_ : targets_;
    queue.put([this, tag, name, size, holes = std::move(holes),
               keep = std::move(keep)](OpenQueue::Held held) {
        name_workers_->post([this, tag, name, size, holes, keep, held = std::move(held)]() mutable {
            auto opened = io::create_target(root_, name, size, holes, keep);
            if (opened) opened->file->held = std::move(held);
            held.reset();
            created(tag, std::move(opened));
        });
    });
}

// Worker threads.
void FileDisk::created(DiskTag tag, Result<CreatedTarget> target) {
    NameDone result;
    result.opening = true;
    result.event.tag = tag;
    if (target) {
        result.opened = std::move(target->file);
        result.event.journal = std::move(target->journal);
    } else {
        result.event.error = target.error();
    }
    done(std::move(result));
}

void FileDisk::check_source(DiskTag tag, DiskFile file) {
    name_workers_->post([this, tag, source = entry(file).file] {
        NameDone result;
        result.event.tag = tag;
        const auto look = look_again(sources_, *source);
        if (look) {
            result.event.size = look->size;
            result.event.mtime_ns = look->mtime_ns;
            result.event.ctime_ns = look->ctime_ns;
            result.event.removed = look->removed;
        } else {
            result.event.error = look.error();
        }
        done(std::move(result));
    });
}

void FileDisk::sync(DiskTag tag, DiskFile file, std::uint64_t offset,
                    std::vector<std::byte> image) {
    name_workers_->post([this, tag, offset, image = std::move(image), target = entry(file).file] {
        NameDone result;
        result.event.tag = tag;
        if (const auto synced = io::sync(*target, offset, image); !synced)
            result.event.error = synced.error();
        done(std::move(result));
    });
}

void FileDisk::flush(DiskTag tag, DiskFile file) {
    const Entry& target = entry(file);
    if (!cached_said_ && (!target.file->direct || target.direct_refused)) {
        cached_said_ = true;
        log_warning("the file system of " + target.file->path +
                    " has no direct I/O: what is read back may come from its memory");
    }
    name_workers_->post([this, tag, file = target.file] {
        NameDone result;
        result.event.tag = tag;
        if (const auto flushed = io::flush(*file); !flushed) result.event.error = flushed.error();
        done(std::move(result));
    });
}

void FileDisk::commit(DiskTag tag, DiskFile file, const ports::FileMetadata& metadata) {
    name_workers_->post([this, tag, metadata, target = std::move(entry(file).file)]() mutable {
        NameDone result;
        result.event.tag = tag;
        const auto committed =
            claim_ != nullptr ? claim_->commit(metadata) : io::commit(*target, metadata);
        if (committed) {
            result.event.unowned = !*committed;
        } else {
            result.event.error = committed.error();
        }
        // Closed, and its partial file removed after an error, before anybody hears of it.
        target.reset();
        done(std::move(result));
    });
    put_away(file);
}

void FileDisk::make_entry(DiskTag tag, ports::Making making) {
    if (claim_ != nullptr) return make_range(tag, making);
    if (maker_ == nullptr) {
        const auto tell = [this](DiskEvent event) {
            done({.event = std::move(event), .opening = false, .opened = {}});
        };
        auto started = Maker::start(root_, kMostMakings, tell, [this] { reactor_.lose_work(); });
        if (!started) return fail(tag, making.name.text(), started.error());
        maker_ = *std::move(started);
    }
    const ByteView content = slots_.at(making.slot).subspan(making.at, making.bytes);
    maker_->make(tag, std::move(making), content);
}

void FileDisk::make_range(DiskTag tag, const ports::Making& making) {
    const ByteView content = slots_.at(making.slot).subspan(making.at, making.bytes);
    name_workers_->post([this, tag, making, content, claim = take_claim(making.name.text())] {
        NameDone result;
        result.event.tag = tag;
        const auto made = claim ? (*claim)->make(making, content) : claim.error();
        if (made) {
            result.event.unowned = !*made;
        } else {
            result.event.error = made.error();
        }
        done(std::move(result));
    });
}

Result<std::shared_ptr<const RangeClaim>> FileDisk::take_claim(const std::string& path) {
    if (!std::exchange(claim_taken_, true)) return claim_;
    return Error{.fault = Fault::protocol,
                 .message = "only one range of one file was claimed",
                 .path = path,
                 .side = Side::local,
                 .remedy = {}};
}

void FileDisk::close(DiskFile file) {
    name_workers_->post([this, closed = std::move(entry(file).file)]() mutable {
        closed->dropped = true;
        const bool makes_room = closed->held != nullptr;
        closed.reset();
        if (makes_room) reactor_.wake();
    });
    put_away(file);
}

bool FileDisk::read(DiskTag tag, DiskFile file, std::uint64_t offset, std::uint32_t slot,
                    std::size_t at, std::size_t bytes) {
    const OpenFile& source = *entry(file).file;
    if (source.kind == OpenFile::Kind::zeros) {
        const std::uint64_t left = source.size - std::min(offset, source.size);
        const std::size_t given = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, left));
        std::memset(slots_.at(slot).subspan(at, given).data(), 0, given);
        ready(tag).bytes = given;
        return true;
    }
    return begin(
        {.tag = tag, .file = file, .slot = slot, .at = at, .offset = offset, .wanted = bytes});
}

bool FileDisk::write(DiskTag tag, DiskFile file, std::uint64_t offset, std::uint32_t slot,
                     std::size_t at, std::size_t bytes) {
    if (entry(file).file->kind == OpenFile::Kind::null) {
        ready(tag).bytes = bytes;
        return true;
    }
    return begin({.tag = tag,
                  .file = file,
                  .writing = true,
                  .slot = slot,
                  .at = at,
                  .offset = offset,
                  .wanted = bytes});
}

void FileDisk::submit() {
    open_sources_.begin();
    open_queued();
    targets_.begin();
    kept_targets_.begin();
    if (const std::size_t handed = hand_over(); handed > 0) {
        ++hand_overs_;
        depth_sum_ += in_flight_;
        steps_ += handed;
    }
    help_reader();
    if (ready_unsaid_) {
        ready_unsaid_ = false;
        reactor_.stay_awake();
    }
}

std::span<DiskEvent> FileDisk::poll() {
    reap();
    take_posted();
    names_done_.take(names_taken_);
    for (NameDone& taken : names_taken_) {
        if (taken.opening) --opening_;
        if (taken.opened) {
            if (free_files_.empty()) {
                free_files_.push_back(static_cast<DiskFile>(files_.size()));
                files_.emplace_back();
            }
            taken.event.file = free_files_.back();
            taken.event.in_memory = taken.opened->storage == Storage::memory ||
                                    taken.opened->kind == OpenFile::Kind::zeros;
            free_files_.pop_back();
            files_[taken.event.file].file = std::move(taken.opened);
        }
        ready_.push_back(std::move(taken.event));
    }
    names_taken_.clear();
    std::swap(events_, ready_);
    ready_.clear();
    ready_unsaid_ = read_here_ = false;
    written_here_ = 0;
    return events_;
}

DiskEvent& FileDisk::ready(DiskTag tag) {
    ready_unsaid_ = true;
    return end(tag);
}

DiskEvent& FileDisk::end(DiskTag tag) {
    DiskEvent& event = ready_.emplace_back();
    event.tag = tag;
    return event;
}

FileDisk::Entry& FileDisk::entry(DiskFile file) {
    LAMBDA_ASSERT(file < files_.size() && files_[file].file != nullptr);
    return files_[file];
}

void FileDisk::put_away(DiskFile file) {
    LAMBDA_ASSERT(files_[file].in_flight == 0);
    files_[file] = Entry{};
    free_files_.push_back(file);
}

// Tells the caller where the table is full.
bool FileDisk::may_open(DiskTag tag, const std::string& path) {
    if (files_.size() - free_files_.size() + opening_ < kMostFiles) {
        ++opening_;
        return true;
    }
    fail(tag, path, file_error("cannot open", path, EMFILE));
    return false;
}

// What was not begun.
void FileDisk::fail(DiskTag tag, const std::string& path, Error error) {
    error.fault = Fault::file;
    error.path = path;
    ready(tag).error = std::move(error);
    reactor_.stay_awake();
}

// Worker threads.
void FileDisk::done(NameDone done) {
    if (names_done_.put(std::move(done))) reactor_.wake();
}

void FileDisk::tell_depth() const {
    if (hand_overs_ == 0 || !log_enabled(LogLevel::debug)) return;
    char text[160];
    std::snprintf(text, sizeof text, "disk: %llu reads and writes by %s, mean queue depth %.1f",
                  static_cast<unsigned long long>(steps_), engine(),
                  static_cast<double>(depth_sum_) / static_cast<double>(hand_overs_));
    log_debug(text);
}

}  // namespace lambda::io
