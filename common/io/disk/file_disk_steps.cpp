// FileDisk's reads and writes of blocks: each in steps, of which one at a time is under way.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "common/io/disk/file_disk.h"
#include "common/io/file/file_error.h"
#include "common/io/file/storage.h"

namespace lambda::io {
namespace {

using ports::DiskEvent;
using ports::DiskFile;
using ports::kDiskAlignment;

// Of a file in memory, of what is written in one step: a kernel that preempts nobody copies it
// before whoever wakes on that processor has his turn.
constexpr std::size_t kMostCopied = 128 << 10;
// By this thread, between two polls: about as much as arrives in a turn, so that it is written
// while it is near.
constexpr std::size_t kWrittenHere = 4 << 20;

constexpr bool aligned(std::uint64_t value) {
    return value % kDiskAlignment == 0;
}
constexpr std::size_t round_up(std::size_t value) {
    return (value + kDiskAlignment - 1) / kDiskAlignment * kDiskAlignment;
}

}  // namespace

bool FileDisk::begin(const Request& wanted) {
    LAMBDA_ASSERT(wanted.wanted > 0 && wanted.at + wanted.wanted <= slots_.block_bytes());
    if (free_requests_.empty()) return false;
    const bool here = copies_now(wanted);
    // What was read is used before there is more.
    if (here && (wanted.writing ? written_here_ >= kWrittenHere : read_here_)) return false;
    read_here_ = read_here_ || (here && !wanted.writing);
    const std::uint32_t index = free_requests_.back();
    free_requests_.pop_back();
    requests_[index] = wanted;
    requests_[index].here = here;
    ++entry(wanted.file).in_flight;
    ++in_flight_;
    if (!here || !wanted.writing) {
        step(index);
        return true;
    }
    written_here_ += wanted.wanted;
    const Time began = Clock().now();
    step(index);
    load_.spent(Clock().now() - began);
    return true;
}

void FileDisk::step(std::uint32_t index) {
    Request& request = requests_[index];
    aim(request);
    if (!request.here) {
        if (request.writing || storage(request) != Storage::memory) return start(index);
        return reader_->post({.index = index,
                              .slot = request.slot,
                              .fd = request.fd,
                              .memory = request.memory,
                              .length = request.length,
                              .position = request.position});
    }
    const auto position = static_cast<off_t>(request.position);
    const ssize_t moved = request.writing
                              ? ::pwrite(request.fd, request.memory, request.length, position)
                              : ::pread(request.fd, request.memory, request.length, position);
    ready_unsaid_ = true;
    finish(index, moved < 0 ? -errno : moved);
}

bool FileDisk::copies_now(const Request& request) {
    if (storage(request) != Storage::memory) return false;
    return request.writing ? writes(*entry(request.file).file) : reads();
}

bool FileDisk::copies_here(DiskFile file) {
    if (entry(file).file->kind == OpenFile::Kind::zeros) return true;
    return !free_requests_.empty() && reads();
}

// What lies in memory is read by this thread, unless that has too much to do.
bool FileDisk::reads() {
    return !(overloaded_ ? overloaded_() : load_.overloaded(reactor_.watched())) || !has_reader();
}

// Likewise, where nobody has time for more than a small part of it. Of two that write to one file
// one waits for the other, be it another process that writes another range of it.
bool FileDisk::writes(const OpenFile& target) {
    return may_write_ && target.kind == OpenFile::Kind::partial &&
           !(overloaded_ ? overloaded_() : load_.spare(reactor_.watched()));
}

bool FileDisk::has_reader() {
    if (reader_ != nullptr || reader_refused_) return reader_ != nullptr;
    auto made = MemoryReader::start([this](std::uint32_t index, long result) {
        try {
            if (steps_done_.put({index, result})) reactor_.wake();
        } catch (const std::bad_alloc&) {
            reactor_.lose_work();
        }
    });
    reader_refused_ = !made.ok();  // this thread reads, then
    if (reader_refused_) return false;
    reader_ = *std::move(made);
    return true;
}

// The reader has what time others leave: what waits for it is as much this thread's.
void FileDisk::help_reader() {
    if (reader_ == nullptr) return;
    const auto copy = reader_->take_back();
    if (!copy) return;
    ready_unsaid_ = true;
    finish(copy->index, copy->run());
}

void FileDisk::post_step(Workers& workers, std::uint32_t index) {
    workers.post([this, index] {
        const Request& step = requests_[index];
        const auto position = static_cast<off_t>(step.position);
        const long moved = step.writing ? ::pwrite(step.fd, step.memory, step.length, position)
                                        : ::pread(step.fd, step.memory, step.length, position);
        if (steps_done_.put({index, moved >= 0 ? moved : -errno})) reactor_.wake();
    });
}

void FileDisk::take_posted() {
    steps_done_.take(steps_taken_);
    for (const StepDone& done : steps_taken_) finish(done.index, done.result);
}

// The next step: direct where offset and memory allow it. A length that is no whole number of pages
// is one at the end of the file alone, where the slot has room for the rest of the page.
void FileDisk::aim(Request& request) {
    Entry& file = entry(request.file);
    const std::size_t left = request.wanted - request.done;
    request.position = file.file->bytes.first + request.offset + request.done;
    request.memory = slots_.at(request.slot).data() + request.at + request.done;
    request.length = left;
    request.fd = file.file->plain.get();
    request.direct = file.file->direct && !file.direct_refused && aligned(request.position) &&
                     aligned(request.at + request.done) &&
                     (aligned(left) || request.position + left >= file.file->size);
    if (request.writing && storage(request) == Storage::memory)
        request.length = std::min(left, kMostCopied);
    if (!request.direct) return;
    request.fd = file.file->direct.get();
    request.length = round_up(left);
    if (request.writing) std::memset(request.memory + left, 0, request.length - left);
}

void FileDisk::finish(std::uint32_t index, long result) {
    Request& request = requests_[index];
    if (stopping_) return complete(index, std::nullopt);
    const OpenFile& file = *entry(request.file).file;
    if (result < 0) {
        const int error_number = static_cast<int>(-result);
        if (error_number == EINVAL && request.direct) {
            entry(request.file).direct_refused = true;
        } else if (error_number != EINTR && error_number != EAGAIN) {
            return complete(index, file_error(request.writing ? "cannot write" : "cannot read",
                                              file.path, error_number));
        }
    } else if (result == 0) {
        if (!request.writing) return complete(index, std::nullopt);  // the end of the file
        return complete(index, file_error("cannot write", file.path, EIO));
    } else {
        request.done = std::min(request.done + static_cast<std::size_t>(result), request.wanted);
        if (request.done == request.wanted) return complete(index, std::nullopt);
    }
    step(index);
}

void FileDisk::complete(std::uint32_t index, std::optional<Error> error) {
    const Request& request = requests_[index];
    DiskEvent& event = end(request.tag);
    if (!error) event.bytes = request.done;
    event.error = std::move(error);
    --entry(request.file).in_flight;
    --in_flight_;
    free_requests_.push_back(index);
}

}  // namespace lambda::io
