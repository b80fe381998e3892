// Divides the memory for rings among the running transfers: each takes what it asks for, at most
// `one`, and at most half of what is left, so that there is some for the next. Loop's thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/session/terms.h"

namespace lambda::server {

class MemoryBudget {
  public:
    MemoryBudget(std::uint64_t all, std::uint64_t one) : left_(all), one_(one) {}

    // Bytes, to be given back; 0 where less is left than the smallest ring.
    std::uint64_t take(std::uint64_t wanted) {
        if (left_ < session::kMinMemory) return 0;
        const std::uint64_t most = std::max(left_ / 2, session::kMinMemory);
        const std::uint64_t given = std::min({std::max(wanted, session::kMinMemory), one_, most});
        left_ -= given;
        return given;
    }
    void give_back(std::uint64_t bytes) { left_ += bytes; }

  private:
    std::uint64_t left_;
    const std::uint64_t one_;
};

}  // namespace lambda::server
