// What each stripe carried over time: totals of file bytes at moments of the transfer, one a SYN at
// first. When there are too many, every second one goes, and further ones come half as often. Pure;
// values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/time.h"

namespace lambda::engine {

class Series {
  public:
    static constexpr std::size_t kMostPoints = 1024;

    Series() = default;
    // `interval` more than 0.
    Series(std::size_t stripes, Duration interval) : stripes_(stripes), interval_(interval) {}

    bool wanted() const { return stripes_ > 0; }
    bool due(Time now) const { return wanted() && now >= next_; }
    // One total for each stripe. Where due().
    void add(Time now, std::span<const std::uint64_t> totals);

    std::size_t stripes() const { return stripes_; }
    std::size_t points() const { return times_.size(); }
    double seconds_at(std::size_t point) const { return seconds(times_[point] - times_.front()); }
    std::uint64_t total(std::size_t point, std::size_t stripe) const {
        return totals_[point * stripes_ + stripe];
    }

  private:
    void halve();

    std::size_t stripes_ = 0;
    Duration interval_{0};
    Time next_{};
    std::vector<Time> times_;
    std::vector<std::uint64_t> totals_;
};

}  // namespace lambda::engine
