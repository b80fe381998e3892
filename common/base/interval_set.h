// A set of integers kept as sorted, disjoint, non-adjacent half-open ranges [first, last).
// Adding in order is O(1); elsewhere O(ranges). Memory is that of the ranges: the owner bounds it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lambda {

struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;  // one past the end

    std::uint64_t length() const { return last - first; }
    bool empty() const { return first >= last; }
    bool operator==(const Range&) const = default;
};

class IntervalSet {
  public:
    // Returns how many integers were new.
    std::uint64_t insert(Range range);
    // Returns how many integers were there.
    std::uint64_t erase(Range range);
    bool contains(Range range) const;
    bool intersects(Range range) const;
    // What of the set comes first within `range`, or nothing where it has none of it.
    std::optional<Range> first_within(Range range) const;
    // The first gap within `range`, or nothing where the set covers it.
    std::optional<Range> first_gap(Range range) const;
    // Takes at most `limit` integers off the front, from one range.
    std::optional<Range> pop_front(std::uint64_t limit);

    bool empty() const { return ranges_.empty(); }
    std::uint64_t count() const { return count_; }
    const std::vector<Range>& ranges() const { return ranges_; }
    void clear() {
        ranges_.clear();
        count_ = 0;
    }
    void reserve(std::size_t ranges) { ranges_.reserve(ranges); }

  private:
    using Iterator = std::vector<Range>::const_iterator;
    // The first range that ends at or after `value`.
    Iterator ending_from(std::uint64_t value) const {
        return std::lower_bound(ranges_.begin(), ranges_.end(), value,
                                [](const Range& r, std::uint64_t v) { return r.last < v; });
    }

    std::vector<Range> ranges_;
    std::uint64_t count_ = 0;
};

}  // namespace lambda
