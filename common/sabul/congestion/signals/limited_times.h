// When a rate was not used: for want of credit, of something to send or of a processor. What came
// of it then says nothing of the path. Of the last two seconds, as Passages. Pure.
#pragma once

#include <algorithm>
#include <deque>

#include "common/base/time.h"
#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/signals/passages.h"

namespace lambda::sabul {

class LimitedTimes {
  public:
    void add(const SynSample& sample) {
        if (sample.limited) {
            if (!times_.empty() && times_.back().to == sample.now - sample.elapsed) {
                times_.back().to = sample.now;
            } else {
                times_.push_back({sample.now - sample.elapsed, sample.now});
            }
        }
        while (!times_.empty() && times_.front().to + Passages::kKept < sample.now)
            times_.pop_front();
    }
    bool any(Time from, Time to) const {
        return std::any_of(times_.begin(), times_.end(),
                           [&](const Limited& time) { return time.from < to && time.to > from; });
    }

  private:
    struct Limited {
        Time from{}, to{};
    };
    std::deque<Limited> times_;
};

}  // namespace lambda::sabul
