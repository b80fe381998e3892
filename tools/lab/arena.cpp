#include "tools/lab/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace lambda::lab {

Result<Arena> Arena::make(std::uint64_t bytes) {
    // One is being filled while another still holds a packet.
    const std::size_t blocks = std::max<std::size_t>(bytes / kBlockBytes, 2);
    void* memory = ::mmap(nullptr, blocks * kBlockBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return errno_error(Fault::unsupported, "no memory for packets", {}, errno);
    }
    return Arena(static_cast<std::byte*>(memory), blocks);
}

Arena::Arena(std::byte* memory, std::size_t blocks)
    : memory_(memory), blocks_(blocks), packets_(blocks, 0) {
    free_.reserve(blocks);
    for (std::size_t i = blocks; i > 1; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
}

Arena::Arena(Arena&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      blocks_(other.blocks_),
      packets_(std::move(other.packets_)),
      free_(std::move(other.free_)),
      current_(other.current_),
      filled_(other.filled_) {}

Arena::~Arena() {
    if (memory_ != nullptr) ::munmap(memory_, blocks_ * kBlockBytes);
}

std::byte* Arena::room(std::size_t bytes) {
    LAMBDA_ASSERT(bytes <= kBlockBytes);
    if (packets_[current_] == 0) filled_ = 0;
    if (filled_ + bytes > kBlockBytes) {
        if (free_.empty()) return nullptr;
        current_ = free_.back();
        free_.pop_back();
        filled_ = 0;
    }
    return memory_ + current_ * kBlockBytes + filled_;
}

void Arena::hold(std::size_t bytes, std::uint32_t packets) {
    if (packets == 0) return;
    packets_[current_] += packets;
    filled_ += (bytes + 63) / 64 * 64;
}

void Arena::release(const void* place, std::uint32_t packets) {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(place) - memory_);
    const auto block = static_cast<std::uint32_t>(offset / kBlockBytes);
    LAMBDA_ASSERT(packets_[block] >= packets);
    packets_[block] -= packets;
    if (packets_[block] == 0 && block != current_) free_.push_back(block);
}

}  // namespace lambda::lab
