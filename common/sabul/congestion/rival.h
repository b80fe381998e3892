// Flows that fill the queue whatever it costs (loss-based TCP, BBR), seen from a law that gives way
// to delay: how they are told from our own queue, and the window that holds our share beside them.
//
// Found: flows of this law alone would keep a queue of kForeign only if each had less than some
// 2 Mbit/s; one that stands higher for seconds while we have next to nothing is somebody else's.
// Held: a CUBIC window (RFC 9438), as a newcomer would open it. Left: every ten seconds most of the
// rate goes for two rounds; a queue that empties then was ours alone. Pure.
#pragma once

#include <limits>

#include "common/base/time.h"
#include "common/sabul/congestion/cubic.h"
#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

class Rival {
  public:
    // One step of the law: its rate (bytes a second) and the queueing delay (seconds).
    void watch(Time now, double rate, double queue, Duration round);
    bool present() const { return present_; }
    // Less is sent, to see what becomes of the queue.
    bool probing(Time now) const { return present_ && now >= probe_from_ && now < probe_to_; }

    void on_ack(const AckSample& sample, Duration syn);
    void on_loss(const LossSample& sample);
    // Packets.
    double window() const { return window_; }

  private:
    void enter(Time now, double packets, Duration round);
    void judge_probe(Time now, double queue, Duration round);
    void plan_probe(Time now, Duration round);

    static constexpr double kNone = std::numeric_limits<double>::infinity();
    bool present_ = false;
    double least_ = kNone, last_least_ = 0;  // of this stretch and the one before, s
    Time stretch_end_{};
    double best_ = 0;  // highest rate, fading
    // Beside them.
    Cubic rule_;
    bool slow_start_ = false;
    double window_ = 0;
    Time event_at_{};
    Time probe_from_{}, probe_to_{};
    double probe_least_ = kNone;
};

}  // namespace lambda::sabul
