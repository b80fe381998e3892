// Divides what there is of something among the running transfers: each takes what it asks for, at
// most `one`, and at most half of what is left beside the `least` for each transfer that is
// promised it and has not come yet. Promised are `transfers`, or as many as half of it all is
// enough for, so that what is little is not kept idle. Loop's thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/assert.h"

namespace lambda::server {

class Budget {
  public:
    Budget(std::uint64_t all, std::uint64_t one, std::uint64_t least, std::uint64_t transfers)
        : left_(all), one_(one), least_(least), promised_(std::min(transfers, all / 2 / least)) {}

    // To be given back; 0 where less is left than the least, which none that is promised meets.
    std::uint64_t take(std::uint64_t wanted) {
        if (left_ < least_) return 0;
        const std::uint64_t free = left_ - std::min(left_, kept_for_others());
        const std::uint64_t most = std::max(free / 2, least_);
        const std::uint64_t given = std::min({std::max(wanted, least_), one_, most});
        left_ -= given;
        ++running_;
        return given;
    }
    void give_back(std::uint64_t given) {
        LAMBDA_ASSERT(running_ > 0);
        left_ += given;
        --running_;
    }

  private:
    std::uint64_t kept_for_others() const {
        return promised_ > running_ + 1 ? (promised_ - running_ - 1) * least_ : 0;
    }

    std::uint64_t left_;
    const std::uint64_t one_;
    const std::uint64_t least_;
    const std::uint64_t promised_;
    std::uint64_t running_ = 0;
};

}  // namespace lambda::server
