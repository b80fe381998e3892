// A bottleneck in virtual time: packets leave it in order at its rate, and one is dropped that
// finds more than its queue holds waiting: up to a packet more may wait than in lambda-lab's.
// Nothing is simulated for a packet but its time of departure. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/time.h"
#include "common/base/units.h"

namespace lambda::simulation {

class Link {
  public:
    // Bytes are those of the whole IP packet.
    Link(BitRate rate, double queue_bytes) : rate_(rate), queue_bytes_(queue_bytes) {}

    // When a packet that arrives now leaves, or nothing: the queue was full.
    std::optional<Time> admit(Time now, double bytes);
    // What waits is served at the new rate.
    void set_rate(Time now, BitRate rate);
    double waiting_ms(Time now) const { return free_at_ > now ? seconds(free_at_ - now) * 1e3 : 0; }

    struct Counters {
        std::uint64_t packets = 0, dropped = 0;
        double bytes = 0;
        double queue_mean = 0;  // bytes, over time
        double queue_p10 = 0;   // ... below which it stood for a tenth of the time
        double queue_max = 0;
    };
    Counters counters(Time now);
    // Counts from here.
    void reset(Time now);

  private:
    double backlog(Time now) const {
        return free_at_ > now ? rate_.bytes_per_second() * seconds(free_at_ - now) : 0;
    }
    void integrate(Time now);

    static constexpr Duration kSample = std::chrono::milliseconds(1);
    BitRate rate_;
    double queue_bytes_;
    Time free_at_{};
    Time last_departure_{};
    Time since_{}, integrated_to_{}, next_sample_{};
    double area_ = 0;  // byte seconds
    std::vector<float> samples_;
    Counters counters_;
};

}  // namespace lambda::simulation
