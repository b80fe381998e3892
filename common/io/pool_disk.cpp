#include "common/io/pool_disk.h"

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
    workers_.reset();  // every step has ended
    stop();
}

void PoolDisk::start(std::uint32_t index) {
    ++started_;
    post_step(*workers_, index);
}

std::size_t PoolDisk::hand_over() {
    return std::exchange(started_, 0);
}

}  // namespace lambda::io
