// How an end of a transfer spends its time, from the first data packet on: busy in its turns,
// asleep and waiting for something, or kept from the processor (common/verdict/figures.h). One
// reading of the clock more for each turn, none for a packet. Engine thread.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/time.h"
#include "common/base/units.h"
#include "common/ports/clock.h"
#include "common/sabul/rtt.h"
#include "common/verdict/figures.h"

namespace lambda::engine {

class Meter {
  public:
    explicit Meter(ports::Clock& clock) : clock_(clock) {}

    // Data flow from now on. A repeated call changes nothing.
    void start(Time now);
    void stop(Time now) { stopped_ = std::min(stopped_, now); }
    bool running() const { return started_ != kNever && stopped_ == kNever; }

    void begin_turn(Time now);
    // `next`: when the thread wants to be woken.
    void end_turn(Time next);
    // The time until the next turn is waited for this, beside what else is said in this turn: each
    // has an equal part.
    void waits_for(verdict::Figure figure) {
        ++parts_[static_cast<std::size_t>(figure)];
        ++all_parts_;
    }

    // With what else is known: times up to now.
    verdict::Figures figures(Time now) const;

  private:
    void add(verdict::Figure figure, Duration time) {
        spent_[static_cast<std::size_t>(figure)] += time;
    }

    ports::Clock& clock_;
    Time started_ = kNever, stopped_ = kNever;
    Time begun_{}, ended_{}, asked_{};
    std::array<Duration, verdict::kFigures> spent_{};
    std::array<std::uint16_t, verdict::kFigures> parts_{};
    std::uint32_t all_parts_ = 0;
};

// What the round trips of a transfer told of the path's queue.
class QueueMeter {
  public:
    void add(const sabul::RttEstimator& rtt) { all_.add(rtt); }
    void add_at_loss(const sabul::RttEstimator& rtt) { at_loss_.add(rtt); }
    void tell(verdict::Figures& figures) const;

  private:
    struct Mean {
        Duration sum{0};
        std::uint64_t count = 0;
        void add(const sabul::RttEstimator& rtt) {
            if (!rtt.known()) return;
            sum += rtt.smoothed() - std::min(rtt.minimum(), rtt.smoothed());
            ++count;
        }
        std::uint64_t us() const {
            return count == 0 ? 0 : static_cast<std::uint64_t>(sum.count()) / 1000 / count;
        }
    };
    Mean all_, at_loss_;
};

// The most that a path carried in any of the intervals that follow each other, each of 100 ms and
// of a round trip at least. What stood still somewhere is acknowledged in one bunch, faster than
// any path carries: no more counts than the law allows when the interval ends.
class CarriedMeter {
  public:
    // `total`: file bytes acknowledged by now.
    void add(Time now, std::uint64_t total, Duration round_trip, BitRate allowed);
    void tell(verdict::Figures& figures) const;

  private:
    Time since_ = kNever;
    std::uint64_t total_ = 0;  // then
    double most_ = 0;          // bytes a second
};

}  // namespace lambda::engine
