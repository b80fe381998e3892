#include "common/io/disk/slots.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "common/io/process.h"
#include "common/ports/disk.h"

namespace lambda::io {

Result<Slots> Slots::reserve(std::uint64_t memory_bytes, std::uint32_t block_bytes) {
    LAMBDA_ASSERT(block_bytes > 0 && block_bytes % ports::kDiskAlignment == 0);
    const std::uint64_t count =
        std::clamp<std::uint64_t>(memory_bytes / block_bytes, 1, UINT32_MAX);
    void* memory = ::mmap(nullptr, count * block_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return no_memory("cannot reserve the memory of the ring");
    // Large pages, where the host gives them to who asks: fewer faults, cheaper registration.
    static_cast<void>(::madvise(memory, count * block_bytes, MADV_HUGEPAGE));
    return Slots(static_cast<std::byte*>(memory), static_cast<std::uint32_t>(count), block_bytes);
}

Slots::Slots(Slots&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      block_bytes_(other.block_bytes_) {}

Slots::~Slots() {
    if (memory_ != nullptr) ::munmap(memory_, std::size_t{count_} * block_bytes_);
}

}  // namespace lambda::io
