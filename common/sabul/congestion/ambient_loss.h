// The loss that a path has anyway, however little is sent. It is met in dips, in which a little
// less leaves than got through for a round trip: what is lost then is not ours. Pure.
#pragma once

#include <cstdint>
#include <random>

#include "common/base/time.h"

namespace lambda::sabul {

class AmbientLoss {
  public:
    struct Sight {
        Time now{};
        Duration rtt{0}, round{0};
        double rate = 0;       // bytes a second
        double queue = 0;      // s
        double recent = 0;     // share of the packets that is lost lately
        double excess = 0;     // of it above value() and what it swings by
        bool drained = false;  // a drain is under way, or was just now
    };

    AmbientLoss(Duration syn, std::uint64_t seed);

    // A share of the packets.
    double value() const { return ambient_; }

    // In the start: no more than the least that was met is the path's.
    void meet(double share);
    // The start is over, and a dip of `depth` follows for a round.
    void end_start(Time now, Duration round, double depth);
    // Packets that left at this time arrived, or were lost.
    void add_received(Time sent, double packets);
    void add_lost(Time sent, double packets);
    // At each step of the law.
    void step(const Sight& sight);

    // As much of the rate is to leave.
    double share(Time now) const { return is_dip(now) ? 1 - depth_ : 1; }
    // In the dip behind the start, while there was no other.
    bool left_in_first(Time sent) const { return from_ == started_ && sent < to_; }

  private:
    bool is_dip(Time sent) const { return sent >= from_ && sent < to_; }
    void judge(const Sight& sight);
    bool is_path_loss(const Sight& sight) const;

    Duration syn_;
    std::minstd_rand random_;
    double ambient_ = 0;
    double known_lost_ = 0, known_packets_ = 0;  // of dips, the older the less
    double most_;                                // that is believed
    double beyond_rate_ = 0;  // the highest with which more than that was met; 0: less was met last
    Time started_{};
    Time from_{}, to_{}, next_{}, judged_{};  // of the last dip, and when the next one is due
    double depth_ = 0, lost_ = 0, received_ = 0;
};

}  // namespace lambda::sabul
