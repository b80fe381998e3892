// What a sender sends again: the places that were lost, lowest first; and while there is nothing
// fresh to send, as in the tail, or where all memory is full of what is under way, copies of them
// (docs/protocol.md §6): then a place that is lost twice costs the whole transfer a round trip, and
// a packet more costs nothing. A copy is as good to the receiver as the first; what becomes of it
// is nothing to the sender. Pure; engine thread. Bounds: lost places, by the source's blocks; of
// the places to copy, the latest kMostCopies.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "common/base/interval_set.h"
#include "common/transfer/source.h"

namespace lambda::engine {

class Resends {
  public:
    static constexpr std::size_t kMostCopies = 2048;
    static constexpr unsigned kMostTimes = 4;

    // How often a place goes so that not one in 5,000 is lost each time, where `lost` of `sent`
    // packets were: 1 to kMostTimes.
    static unsigned times(std::uint64_t lost, std::uint64_t sent);

    void lose(Range places) { lost_.insert(places); }
    bool any_lost() const { return !lost_.empty(); }
    bool any_copy() const { return !copies_.empty(); }

    // Each leaves out what the source gave up, or was acknowledged whole.
    std::optional<transfer::Cut> next_lost(transfer::Source& source, std::size_t payload);
    std::optional<transfer::Cut> next_copy(transfer::Source& source, std::size_t payload);
    // The places, one packet's, go so often more.
    void copy(Range places, unsigned more);

  private:
    struct Copies {
        Range places;
        unsigned more;
    };

    IntervalSet lost_;
    std::deque<Copies> copies_;
};

}  // namespace lambda::engine
