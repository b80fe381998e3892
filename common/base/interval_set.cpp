#include "common/base/interval_set.h"

namespace lambda {

std::uint64_t IntervalSet::insert(Range range) {
    if (range.empty()) return 0;
    if (!ranges_.empty() && ranges_.back().last == range.first) {
        ranges_.back().last = range.last;
        count_ += range.length();
        return range.length();
    }
    const auto begin = ranges_.begin() + (ending_from(range.first) - ranges_.begin());
    auto end = begin;
    std::uint64_t held = 0;
    Range merged = range;
    while (end != ranges_.end() && end->first <= range.last) {
        merged.first = std::min(merged.first, end->first);
        merged.last = std::max(merged.last, end->last);
        held += end->length();
        ++end;
    }
    const std::uint64_t added = merged.length() - held;
    if (begin == end) {
        ranges_.insert(begin, merged);
    } else {
        *begin = merged;
        ranges_.erase(begin + 1, end);
    }
    count_ += added;
    return added;
}

std::uint64_t IntervalSet::erase(Range range) {
    if (range.empty()) return 0;
    std::uint64_t removed = 0;
    auto at = ranges_.begin() + (ending_from(range.first + 1) - ranges_.begin());
    while (at != ranges_.end() && at->first < range.last) {
        const Range cut{std::max(at->first, range.first), std::min(at->last, range.last)};
        removed += cut.length();
        const Range left{at->first, cut.first};
        const Range right{cut.last, at->last};
        if (left.empty() && right.empty()) {
            at = ranges_.erase(at);
        } else if (right.empty()) {
            *at++ = left;
        } else if (left.empty()) {
            *at++ = right;
        } else {
            *at = left;
            at = ranges_.insert(at + 1, right);
            break;
        }
    }
    count_ -= removed;
    return removed;
}

bool IntervalSet::contains(Range range) const {
    return !first_gap(range).has_value();
}

bool IntervalSet::intersects(Range range) const {
    if (range.empty()) return false;
    const Iterator at = ending_from(range.first + 1);
    return at != ranges_.end() && at->first < range.last;
}

std::optional<Range> IntervalSet::first_within(Range range) const {
    for (Iterator at = ending_from(range.first); at != ranges_.end(); ++at) {
        const Range part{std::max(at->first, range.first), std::min(at->last, range.last)};
        if (!part.empty()) return part;
        if (at->first >= range.last) break;
    }
    return std::nullopt;
}

std::optional<Range> IntervalSet::first_gap(Range range) const {
    if (range.empty()) return std::nullopt;
    const Iterator at = ending_from(range.first + 1);
    if (at == ranges_.end() || at->first >= range.last) return range;
    if (at->first > range.first) return Range{range.first, at->first};
    if (at->last >= range.last) return std::nullopt;
    const Iterator next = at + 1;
    const std::uint64_t end =
        next == ranges_.end() ? range.last : std::min(range.last, next->first);
    return Range{at->last, end};
}

std::optional<Range> IntervalSet::pop_front(std::uint64_t limit) {
    if (ranges_.empty() || limit == 0) return std::nullopt;
    Range& front = ranges_.front();
    const Range taken{front.first, front.first + std::min(limit, front.length())};
    front.first = taken.last;
    count_ -= taken.length();
    if (front.empty()) ranges_.erase(ranges_.begin());
    return taken;
}

}  // namespace lambda
