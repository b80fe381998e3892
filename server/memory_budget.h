// Divides the memory for rings among the running transfers: each takes what it asks for, at most
// `one`, and at most half of what is left beside a smallest ring for each transfer that is promised
// one and has not come yet. Promised are `transfers`, or as many as half of it all holds smallest
// rings for, so that a small budget is not kept idle. Loop's thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/assert.h"
#include "common/session/terms.h"

namespace lambda::server {

class MemoryBudget {
  public:
    MemoryBudget(std::uint64_t all, std::uint64_t one, std::uint64_t transfers)
        : left_(all), one_(one), promised_(std::min(transfers, all / 2 / session::kMinMemory)) {}

    // Bytes, to be given back; 0 where less is left than the smallest ring, which none that is
    // promised meets.
    std::uint64_t take(std::uint64_t wanted) {
        if (left_ < session::kMinMemory) return 0;
        const std::uint64_t free = left_ - std::min(left_, kept_for_others());
        const std::uint64_t most = std::max(free / 2, session::kMinMemory);
        const std::uint64_t given = std::min({std::max(wanted, session::kMinMemory), one_, most});
        left_ -= given;
        ++running_;
        return given;
    }
    void give_back(std::uint64_t bytes) {
        LAMBDA_ASSERT(running_ > 0);
        left_ += bytes;
        --running_;
    }

  private:
    std::uint64_t kept_for_others() const {
        return promised_ > running_ + 1 ? (promised_ - running_ - 1) * session::kMinMemory : 0;
    }

    std::uint64_t left_;
    const std::uint64_t one_;
    const std::uint64_t promised_;
    std::uint64_t running_ = 0;
};

}  // namespace lambda::server
