#include "common/io/disk/pool_disk.h"

#include <utility>

#include "common/io/disk/disk.h"

namespace lambda::io {
namespace {

constexpr unsigned kThreads = 4;

}  // namespace

Result<std::unique_ptr<ports::Disk>> PoolDisk::make(const DiskOptions& options, Parts parts,
                                                    Reactor& reactor) {
    auto workers =
        Workers::make(kThreads, options.queue_depth, [&reactor] { reactor.lose_work(); });
    if (!workers) return workers.error();
    return std::unique_ptr<ports::Disk>(
        new PoolDisk(options, std::move(parts), *std::move(workers), reactor));
}

PoolDisk::PoolDisk(const DiskOptions& options, Parts parts, std::unique_ptr<Workers> workers,
                   Reactor& reactor)
    : FileDisk(options, std::move(parts), reactor), workers_(std::move(workers)) {}

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
