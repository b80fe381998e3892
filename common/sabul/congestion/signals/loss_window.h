// The share of packets lost over a stretch of time, late arrivals taken off. Bounded. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "common/base/time.h"

namespace lambda::sabul {

class LossWindow {
  public:
    static constexpr double kTelling = 200;  // packets, that a share needs to tell anything

    void add(Time now, double lost, double received) {
        if (count_ > 0 && now - at(count_ - 1).since < kGrain) {
            at(count_ - 1).lost += lost;
            at(count_ - 1).received += received;
            return;
        }
        if (count_ == kEntries) {
            first_ = (first_ + 1) % kEntries;
            --count_;
        }
        at(count_++) = {now, lost, received};
    }
    void clear() { count_ = 0; }

    // Over the last `span`, and further back until there are `least` packets; nothing where there
    // are not.
    std::optional<double> share(Time now, Duration span, double least) const {
        double lost = 0, received = 0;
        for (std::size_t i = count_; i-- > 0;) {
            if (now - at(i).since > span && lost + received >= least) break;
            lost += at(i).lost;
            received += at(i).received;
        }
        if (lost + received < least) return std::nullopt;
        return std::clamp(lost / (lost + received), 0.0, 1.0);
    }

  private:
    static constexpr std::size_t kEntries = 256;
    static constexpr Duration kGrain = std::chrono::milliseconds(5);
    struct Entry {
        Time since{};
        double lost = 0, received = 0;
    };
    Entry& at(std::size_t i) { return entries_[(first_ + i) % kEntries]; }
    const Entry& at(std::size_t i) const { return entries_[(first_ + i) % kEntries]; }

    std::array<Entry, kEntries> entries_{};
    std::size_t first_ = 0, count_ = 0;
};

}  // namespace lambda::sabul
