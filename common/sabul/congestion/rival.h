// Flows that fill the queue whatever it costs (loss-based TCP, BBR), seen from a law that gives way
// to delay: how they are told from our own queue, and the window that holds our share beside them.
//
// Found, while we have next to nothing of what we had:
// - flows of this law alone would keep a queue of kForeign only if each had less than some 2
// Mbit/s;
//   one that stands higher for seconds is somebody else's;
// - or by a challenge: a few times the rate for some round trips. Flows of this law make room and
// the
//   queue is what it was; others do not, and it grows, while more of ours gets through.
// Held: a CUBIC window (RFC 9438), opened as a newcomer's. Left: every ten seconds, later more
// seldom, most of the rate goes for two rounds; a queue that empties then may be ours alone. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <random>

#include "common/base/time.h"
#include "common/sabul/congestion/cubic.h"
#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

class Rival {
  public:
    explicit Rival(std::uint64_t seed) : random_(static_cast<std::uint32_t>(seed) + 1) {}

    // One step of the law: its rate and what gets through (bytes a second), and the queueing delay
    // (seconds).
    void watch(Time now, double rate, double delivered, double queue, Duration round);
    // More than the rate is sent, or was in the last round trip.
    bool challenging() const { return challenge_to_ != Time{}; }
    // Bytes a second; 0: what the law says.
    double challenge(Time now) const { return now < challenge_to_ ? challenge_rate_ : 0; }
    bool present() const { return present_; }
    // Less is sent, to see what becomes of the queue.
    bool probing(Time now) const { return present_ && now >= probe_from_ && now < probe_to_; }

    void on_ack(const AckSample& sample, Duration syn);
    void on_loss(const LossSample& sample);
    // Packets.
    double window() const { return window_; }

  private:
    void enter(Time now, double packets, Duration round);
    void begin_challenge(Time now, double rate, Duration round);
    void judge_challenge(Time now, double delivered, double queue, Duration round);
    void judge_probe(Time now, double queue, Duration round);
    void plan_probe(Time now, Duration round);

    static constexpr double kNone = std::numeric_limits<double>::infinity();
    bool present_ = false;
    double least_ = kNone, last_least_ = 0;  // of this stretch and the one before, s
    Time stretch_end_{};
    double best_ = 0;         // highest rate, fading
    double usual_queue_ = 0;  // s, smoothed
    Time poor_since_{};
    Duration patience_{0};
    std::minstd_rand random_;
    Time challenge_from_{}, challenge_to_{};
    double challenge_rate_ = 0, challenge_least_ = kNone, challenge_delivered_ = 0;
    // Beside them.
    Cubic rule_;
    bool slow_start_ = false;
    double window_ = 0;
    Time event_at_{};
    Time probe_from_{}, probe_to_{};
    Duration probe_every_{0};
    double probe_least_ = kNone;
};

}  // namespace lambda::sabul
