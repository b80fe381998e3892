#include "common/io/disk/uring_disk.h"

#include <atomic>
#include <cerrno>

#include "common/io/disk/disk.h"
#include "common/io/file/storage.h"
#include "common/io/log.h"

namespace lambda::io {

Result<std::unique_ptr<ports::Disk>> UringDisk::make(const DiskOptions& options, Parts& parts,
                                                     Reactor& reactor) {
    io_uring ring;
    // The engine's thread calls the kernel all the time: completions may wait for that instead of
    // interrupting it (5.19).
    int outcome = ::io_uring_queue_init(options.queue_depth, &ring,
                                        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
    if (outcome == -EINVAL) outcome = ::io_uring_queue_init(options.queue_depth, &ring, 0);
    if (outcome < 0) return errno_error(Fault::unsupported, "no io_uring", {}, -outcome);
    return std::unique_ptr<ports::Disk>(new UringDisk(options, std::move(parts), reactor, ring));
}

UringDisk::UringDisk(const DiskOptions& options, Parts parts, Reactor& reactor,
                     const io_uring& ring)
    : FileDisk(options, std::move(parts), reactor),
      ring_(ring),
      registered_(this->slots().count(), false) {
    may_register_ = ::io_uring_register_buffers_sparse(&ring_, this->slots().count()) == 0;
    reactor.add(ring_.ring_fd, &readiness_);
}

UringDisk::~UringDisk() {
    tell_depth();
    stop();
    // The kernel may still write into the slots: they must outlive every step.
    hand_over();
    while (in_flight() > 0) {
        ::io_uring_submit_and_wait(&ring_, 1);
        reap();
    }
    reactor().remove(ring_.ring_fd);
    ::io_uring_queue_exit(&ring_);
}

void UringDisk::start(std::uint32_t index) {
    const Request& step = request(index);
    io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
    LAMBDA_ASSERT(sqe != nullptr);  // the ring has a place for each request
    const auto length = static_cast<unsigned>(step.length);
    if (registered(step.slot)) {
        const int buffer = static_cast<int>(step.slot);
        if (step.writing) {
            ::io_uring_prep_write_fixed(sqe, step.fd, step.memory, length, step.position, buffer);
        } else {
            ::io_uring_prep_read_fixed(sqe, step.fd, step.memory, length, step.position, buffer);
        }
    } else if (step.writing) {
        ::io_uring_prep_write(sqe, step.fd, step.memory, length, step.position);
    } else {
        ::io_uring_prep_read(sqe, step.fd, step.memory, length, step.position);
    }
    if (storage(step) == Storage::program) sqe->flags |= IOSQE_ASYNC;
    ::io_uring_sqe_set_data64(sqe, index);
}

std::size_t UringDisk::hand_over() {
    const unsigned queued = ::io_uring_sq_ready(&ring_);
    // What the kernel does not take now (EAGAIN, EBUSY) stays queued for the next turn.
    if (queued > 0) ::io_uring_submit(&ring_);
    return queued;
}

void UringDisk::reap() {
    io_uring_cqe* cqe = nullptr;
    while (::io_uring_peek_cqe(&ring_, &cqe) == 0) {
        const auto index = static_cast<std::uint32_t>(::io_uring_cqe_get_data64(cqe));
        const long result = cqe->res;
        ::io_uring_cqe_seen(&ring_, cqe);
        finish(index, result);
    }
    // The rest of short transfers: no turn of the engine is owed to them.
    hand_over();
}

// Registers the slot when it is first used: that is what makes its memory real.
bool UringDisk::registered(std::uint32_t slot) {
    if (registered_[slot]) return true;
    if (!may_register_) return false;
    const ByteSpan memory = slots().at(slot);
    iovec vector{memory.data(), memory.size()};
    __u64 tag = 0;
    const int outcome = ::io_uring_register_buffers_update_tag(&ring_, slot, &vector, &tag, 1);
    if (outcome == 1) {
        registered_[slot] = true;
        return true;
    }
    may_register_ = false;
    static std::atomic<bool> said = false;
    if (!said.exchange(true)) {
        log_info(
            "the limit of locked memory (ulimit -l) is too small to register the ring's memory "
            "with io_uring: plain memory serves, at some cost");
    }
    return false;
}

}  // namespace lambda::io
