#include "server/sparse_log.h"

#include <utility>

namespace lambda::server {

std::optional<std::string> SparseLog::pick(const Admission::Host& host, std::string text,
                                           Time now) {
    std::erase_if(next_, [&](const auto& each) { return each.second <= now; });
    if (next_.size() >= kMostHosts || !next_.emplace(host, now + kPause).second) {
        ++left_out_;
        return std::nullopt;
    }
    if (const std::uint64_t count = std::exchange(left_out_, 0); count > 0)
        text += "; " + std::to_string(count) + " more of such were left out";
    return text;
}

}  // namespace lambda::server
