// What passed on a stripe lately: when packets left, when they arrived, and how many bytes had by
// then; of the last two seconds, and of kMost ACKs at most, since the receiver says when that was.
// Departures by the sender's clock, arrivals by the receiver's. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "common/base/time.h"

namespace lambda::sabul {

// Up to one ACK's largest number.
struct Passed {
    Time sent{};
    Duration arrived{0};
    Duration steady{0};       // arrived, less what a standstill held it
    std::uint64_t bytes = 0;  // received by then
};

class Passages {
  public:
    struct Span {
        Time sent_from{}, sent_to{};
        double sent = 0, arrived = 0;  // s, between the first and the last
        double delivered = 0;          // bytes a second
    };

    void add(const Passed& passed) {
        // The receiver's clock was set back, or one of its times lay ahead of it.
        if (!passed_.empty() && passed.arrived + kKept < passed_.back().arrived) passed_.clear();
        if (passed_.empty() || passed.arrived > passed_.back().arrived) passed_.push_back(passed);
        while (passed_.front().arrived + kKept < passed.arrived || passed_.size() > kMost)
            passed_.pop_front();
    }
    void clear() { passed_.clear(); }
    bool empty() const { return passed_.empty(); }
    std::size_t size() const { return passed_.size(); }
    const Passed& last() const { return passed_.back(); }

    // Over the last `width`, or what there is of it. Less than `least` says nothing of the path's
    // rate: it may have been one burst.
    std::optional<Span> lately(Duration width, Duration least) const {
        if (passed_.size() < 2) return std::nullopt;
        const Passed& last = passed_.back();
        auto first = passed_.end() - 2;
        while (first != passed_.begin() && last.steady - first->steady < width) --first;
        if (last.steady - first->steady < least) return std::nullopt;
        // What a standstill held back comes in one bunch, faster than the path carries anything.
        const Duration took = std::max(last.arrived - first->arrived, last.steady - first->steady);
        return Span{first->sent, last.sent, seconds(last.sent - first->sent),
                    seconds(last.steady - first->steady),
                    static_cast<double>(last.bytes - first->bytes) / seconds(took)};
    }

    static constexpr Duration kKept = std::chrono::seconds(2);
    static constexpr std::size_t kMost = 8192;  // four in a millisecond

  private:
    std::deque<Passed> passed_;
};

}  // namespace lambda::sabul
