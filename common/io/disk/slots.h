// The memory of block slots: reserved address space, of which a page costs nothing until it is
// first touched. One owner; the addresses never move.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/cursor.h"
#include "common/base/result.h"

namespace lambda::io {

class Slots {
  public:
    // As many whole blocks as fit into `memory_bytes`, at least one. `block_bytes` is a multiple of
    // ports::kDiskAlignment.
    static Result<Slots> reserve(std::uint64_t memory_bytes, std::uint32_t block_bytes);

    Slots(Slots&& other) noexcept;
    Slots& operator=(Slots&&) = delete;
    ~Slots();

    std::uint32_t count() const { return count_; }
    std::uint32_t block_bytes() const { return block_bytes_; }
    ByteSpan at(std::uint32_t index) const {
        LAMBDA_ASSERT(index < count_);
        return {memory_ + std::size_t{index} * block_bytes_, block_bytes_};
    }

  private:
    Slots(std::byte* memory, std::uint32_t count, std::uint32_t block_bytes)
        : memory_(memory), count_(count), block_bytes_(block_bytes) {}
    std::byte* memory_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t block_bytes_ = 0;
};

}  // namespace lambda::io
