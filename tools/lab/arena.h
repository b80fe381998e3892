// Where packets lie while they are on their way: blocks that are filled one after the other, each
// free again when the last packet in it has gone. Bounded; pages are taken from the machine when
// they are first used. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/result.h"

namespace lambda::lab {

class Arena {
  public:
    static constexpr std::size_t kBlockBytes = 1u << 20;

    static Result<Arena> make(std::uint64_t bytes);
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&&) = delete;
    ~Arena();

    // Room for that many bytes at the end of what is held, aligned for anything; nothing where the
    // arena is full. The next call may give the same room, but for what was held of it.
    std::byte* room(std::size_t bytes);
    // The first `bytes` of the room are taken by that many packets.
    void hold(std::size_t bytes, std::uint32_t packets);
    // Packets at this place have gone.
    void release(const void* place, std::uint32_t packets);

  private:
    Arena(std::byte* memory, std::size_t blocks);

    std::byte* memory_;
    std::size_t blocks_;
    std::vector<std::uint32_t> packets_;  // in each block
    std::vector<std::uint32_t> free_;     // blocks, the last used on top
    std::uint32_t current_ = 0;
    std::size_t filled_ = 0;  // bytes of the current block
};

}  // namespace lambda::lab
