// What the ACKs of a transfer tell of its path, over all of its stripes: how long packets wait, and
// what passed lately. Nothing depends on when an ACK arrived: only on departures by our clock and
// arrivals by the receiver's. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/signals/one_way_delay.h"
#include "common/sabul/congestion/signals/passages.h"
#include "common/sabul/congestion/signals/standstill.h"

namespace lambda::sabul {

class Arrivals {
  public:
    static constexpr double kMostFate = 1.25;
    struct Span {
        Time sent_from{}, sent_to{};
        double fate = 1;       // the share of the sending speed that got through; kMostFate at most
        double delivered = 0;  // bytes a second
        bool known = false;
    };

    // `base_life`: for how long the least delay that was seen is the path's.
    Arrivals(Duration syn, Duration base_life) : syn_(syn), base_life_(base_life) {}

    // `round`: a round trip, as the path has it now.
    void add(const AckSample& sample, Duration round);
    // What passed so far; for a path that may be another one now.
    void forget_passed();
    // The path itself has become longer, by so many seconds at most.
    void raise_base(double by);

    // Seconds, mean of the stripes that were heard of lately: the delay above the path's, what of
    // it no standstill explains, and that smoothed.
    double waiting() const { return waiting_; }
    double queue() const { return queue_; }
    double smooth_queue() const { return smooth_queue_; }
    // No delay as low as the path's was seen for nearly as long as it counts.
    bool base_is_old(Time now) const;

    // Over the last `width`, of stripes whose arrivals span `least` at least.
    Span lately(Time now, Duration width, Duration least, Duration round) const;
    // Most of what left on the stripe between these times met a standstill.
    bool met_standstill(std::uint16_t stripe, Time first_sent, Time last_sent) const;
    // For how long the stripes are held up, in the mean: nothing tells of one just now, as while
    // TCP sends its feedback again. For longer than some round trips: it is dead.
    Duration held_up(Time now, Duration round) const;
    std::size_t stripes() const { return stripes_.size(); }

  private:
    struct Stripe {
        explicit Stripe(Duration base_life) : delay(base_life) {}
        OneWayDelay delay;
        Standstill standstill;
        Passages passages;
        std::uint64_t bytes = 0;
        Time heard{};
        double waiting = 0;       // s, least of the last ACK
        double queue = 0;         // s, of it that no standstill explains
        double smooth_queue = 0;  // s
    };

    void take_passages(Stripe& stripe, const AckSample& sample, Duration round);
    void take_means(Time now);
    bool held_up(const Stripe& stripe, Time now, Duration round) const;

    Duration syn_, base_life_;
    std::vector<Stripe> stripes_;
    double waiting_ = 0, queue_ = 0, smooth_queue_ = 0;
};

}  // namespace lambda::sabul
