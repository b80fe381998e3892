// What the rate was when a packet left: a law that judges by what became of a packet compares with
// the rate of that time, not of today. Bounded to the last kEntries changes. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/base/time.h"

namespace lambda::sabul {

class RateHistory {
  public:
    static constexpr std::size_t kEntries = 1024;

    void set(Time now, double rate) {
        if (count_ > 0 && at(count_ - 1).since == now) {
            at(count_ - 1).rate = rate;
            return;
        }
        if (count_ > 0 && at(count_ - 1).rate == rate) return;
        if (count_ == kEntries) {
            first_ = (first_ + 1) % kEntries;
            --count_;
        }
        at(count_++) = {now, rate};
    }

    // What was below `rate` was a mistake.
    void lift(double rate) {
        for (std::size_t i = 0; i < count_; ++i) at(i).rate = std::max(at(i).rate, rate);
    }

    // Mean over time; at one moment where both are the same. The oldest entry stands for all
    // before.
    double mean(Time from, Time to) const {
        if (count_ == 0) return 0;
        double area = 0;
        Time end = std::max(to, from + Duration(1));
        const Time begin = from;
        const double span = seconds(end - begin);
        for (std::size_t i = count_; i-- > 0;) {
            const Time since = i == 0 ? std::min(at(0).since, begin) : at(i).since;
            if (since >= end) continue;
            area += at(i).rate * seconds(end - std::max(since, begin));
            if (since <= begin) break;
            end = since;
        }
        return area / span;
    }

    double most_since(Time from) const {
        double most = 0;
        for (std::size_t i = count_; i-- > 0;) {
            most = std::max(most, at(i).rate);
            if (at(i).since <= from) break;
        }
        return most;
    }

  private:
    struct Entry {
        Time since{};
        double rate = 0;
    };
    Entry& at(std::size_t i) { return entries_[(first_ + i) % kEntries]; }
    const Entry& at(std::size_t i) const { return entries_[(first_ + i) % kEntries]; }

    std::array<Entry, kEntries> entries_{};
    std::size_t first_ = 0, count_ = 0;
};

}  // namespace lambda::sabul
