#include "common/io/pool_disk.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace lambda::io {
namespace {

constexpr unsigned kThreads = 4;

}  // namespace

PoolDisk::PoolDisk(const DiskOptions& options, Slots slots, Root root, Reactor& reactor)
    : FileDisk(options, std::move(slots), std::move(root), reactor),
      workers_(std::make_unique<Workers>(kThreads, options.queue_depth)) {}

PoolDisk::~PoolDisk() {
    tell_depth();
    stop();
    workers_.reset();  // every step has ended
    reap();
}

void PoolDisk::start(std::uint32_t index) {
    ++started_;
    // The request is the worker's until its end is taken.
    workers_->post([this, index] {
        const Request& step = request(index);
        const auto position = static_cast<off_t>(step.position);
        const long moved = step.writing ? ::pwrite(step.fd, step.memory, step.length, position)
                                        : ::pread(step.fd, step.memory, step.length, position);
        if (steps_done_.put({index, moved >= 0 ? moved : -errno})) reactor().wake();
    });
}

std::size_t PoolDisk::hand_over() {
    return std::exchange(started_, 0);
}

void PoolDisk::reap() {
    steps_done_.take(steps_taken_);
    for (const StepDone& done : steps_taken_) finish(done.index, done.result);
}

}  // namespace lambda::io
