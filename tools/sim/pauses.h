// Times at which a path stands still: what would move is held back until the pause ends, and comes
// then in one bunch, as behind a host that forwards and is stopped by its hypervisor. Pure.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "common/base/time.h"

namespace lambda::simulation {

class Pauses {
  public:
    // From `from` on for `span`: after running for `every` in the mean, a pause of up to `most`.
    Pauses(Time from, Duration span, Duration every, Duration most, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::exponential_distribution<double> running(1 / seconds(every));
        std::uniform_real_distribution<double> standing(0, seconds(most));
        Time at = from;
        while (at < from + span) {
            at += from_seconds(running(random));
            const Time end = at + from_seconds(standing(random));
            pauses_.push_back({at, end});
            at = end;
        }
    }
    // When what was due at `time` happens.
    Time after(Time time) const {
        const auto next =
            std::upper_bound(pauses_.begin(), pauses_.end(), time,
                             [](Time at, const Pause& pause) { return at < pause.end; });
        return next == pauses_.end() || time < next->begin ? time : next->end;
    }

  private:
    struct Pause {
        Time begin{}, end{};
    };
    std::vector<Pause> pauses_;
};

}  // namespace lambda::simulation
