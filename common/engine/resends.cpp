#include "common/engine/resends.h"

#include <algorithm>

namespace lambda::engine {

unsigned Resends::times(std::uint64_t lost, std::uint64_t sent) {
    constexpr double kLeft = 1.0 / 5000;
    if (lost == 0) return 1;
    const double share = static_cast<double>(lost) / static_cast<double>(std::max(sent, lost));
    unsigned times = 1;
    for (double left = share; left > kLeft && times < kMostTimes; left *= share) ++times;
    return times;
}

std::optional<transfer::Cut> Resends::next_lost(transfer::Source& source, std::size_t payload) {
    while (!lost_.empty()) {
        const Range front = lost_.ranges().front();
        const auto cut = source.cut_again(front, payload);
        if (cut) {
            lost_.pop_front(cut->bytes.size());
            return cut;
        }
        lost_.erase({front.first, std::min(front.last, source.block_end(front.first))});
    }
    return std::nullopt;
}

// One round of all of them before the next: what is lost together is not copied together.
std::optional<transfer::Cut> Resends::next_copy(transfer::Source& source, std::size_t payload) {
    while (!copies_.empty()) {
        const Copies next = copies_.front();
        copies_.pop_front();
        const auto cut = source.cut_again(next.places, payload);
        if (!cut) continue;
        const std::uint64_t end = cut->place + cut->bytes.size();
        // It went as one packet, and is cut now where that would be too long.
        if (end < next.places.last) copies_.push_front({{end, next.places.last}, next.more});
        copy({cut->place, end}, next.more - 1);
        return cut;
    }
    return std::nullopt;
}

void Resends::copy(Range places, unsigned more) {
    if (more == 0) return;
    if (copies_.size() == kMostCopies) copies_.pop_front();
    copies_.push_back({places, more});
}

}  // namespace lambda::engine
